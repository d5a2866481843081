"""A comparison that was typed, as a study in a folder."""

import copy
import itertools
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tiltyard.app.freeze import place_study, scale_suffix
from tiltyard.errors import UsageError, WrittenWarning
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.program import PATHS
from tiltyard.run.record import AS_PLANNED, Amendment
from tiltyard.run.trust import UntrustedInputs, require_made_here
from tiltyard.study.compare import (
    NOTHING,
    Asked,
    Document,
    Place,
    TypedCommands,
    compare_study,
    study_text,
)
from tiltyard.study.load import made_study, parsed, read_text
from tiltyard.study.model import Study
from tiltyard.study.scaling import parse_scale
from tiltyard.study.toml import TomlValue
from tiltyard.systems import KINDS, host, pair
from tiltyard.systems.typed import TypedSystem, labels_of, typed_systems, varied
from tiltyard.units import parse_duration
from tiltyard.wire import Catalogue
from tiltyard.workloads.catalogue import ProfileCard, catalogue_of

_NO_SLUG: Final = re.compile(r"[^A-Za-z0-9.+=-]+")
_SLUG_MAX: Final = 80


@dataclass(frozen=True)
class TypedStudy:
    """A typed comparison in its folder."""

    folder: StudyFolder
    engine: Engine
    amendment: Amendment
    """What it changes of the plan that was there."""
    study: Study | None
    """What is in the folder, so that it need not be read; ``None``: the one that is amended."""


def typed_study(
    words: Sequence[str],
    workloads: Sequence[str],
    folder: Path | None = None,
    *,
    vary: Sequence[str] = (),
    commands: TypedCommands | None = None,
    asked: Asked = NOTHING,
    verb: str = "",
) -> TypedStudy:
    """Write the study of a typed comparison; what it brings is trusted as typed.

    Of a study that is there already another budget, and that disturbed blocks count, change what
    is left of it to do.

    Args:
        words: systems as they were typed; see :mod:`tiltyard.systems.typed`.
        workloads: names of workloads; empty: the usual one for such systems, or commands.
        folder: of the study; by default named after the question.
        vary: settings that are varied beside the systems: ``scheduler=none,mq-deadline``.
        commands: commands that were typed.
        asked: what was asked for beside all these.
        verb: begins the name of the folder of commands.

    Raises:
        UsageError: if there is no such system or workload, or another study in the folder.
        RefusedError: if the same study lies in a folder that was neither made here nor named.
    """
    if commands and workloads:
        raise UsageError(
            "--workload (-w) and --command (-c): a command is the workload itself. Fix: leave one "
            "of them out"
        )
    engine = Engine.find()
    catalogue = catalogue_of(engine, StudyFolder(folder or Path("study")))
    network = _is_of_network([*words, *vary], workloads, catalogue)
    if not workloads and not commands:
        workloads = ("tcp_stream" if network else "postmark",)
    place = _place(folder or Path("study"))
    systems = typed_systems(words, place, network=network)
    shared: dict[str, TomlValue] = {}
    if not systems and not commands:
        shared["kind"] = pair.KIND.name if network else host.KIND.name
    if commands:
        paths = {
            key: place(str(commands.workload[key])) for key in commands.workload.keys() & PATHS
        }
        commands = replace(commands, workload={**commands.workload, **paths})
        _say_what_counts(commands.programs, catalogue)
    levels = [varied(each, systems, network=network) for each in vary]
    document = compare_study(
        [*zip(labels_of(systems), (system.settings for system in systems), strict=True)],
        workloads,
        catalogue,
        varied=dict(levels),
        shared=shared,
        commands=commands,
        asked=asked,
        place=place,
    )
    names = [*map(_name, systems), *(name for name, _ in levels)]
    if commands:
        slug = "-".join(filter(None, (verb, *names, *commands.names)))
        name = _NO_SLUG.sub("_", slug).strip("_-")[:_SLUG_MAX]
    else:
        scale = scale_suffix(parse_scale(asked.scale)) if asked.scale else ""
        name = "-".join((*map(_word, workloads), *names))[:_SLUG_MAX] + scale
    text = study_text(document)
    target = _unused(name, document, folder, again=commands is not None)
    if folder is None:
        require_made_here(target)
    # A study that cannot be carried out must not stand in the way of the corrected command.
    study = made_study(document, text, target.study, catalogue, KINDS)
    amendment = _amended(target, document) or AS_PLANNED
    is_this = amendment == AS_PLANNED
    if is_this:
        place_study(target, text.encode())
    # A plan that was in the folder before is not trusted by this.
    hash_ = sha256(text.encode())
    UntrustedInputs.among(hash_, study.systems, study.workloads, catalogue, target).trust()
    return TypedStudy(target, engine, amendment, study if is_this else None)


def _say_what_counts(programs: Sequence[str], catalogue: Catalogue) -> None:
    """Of a benchmark that works for a given time, the time that it takes says nothing."""
    for name in dict.fromkeys(Path(program).name for program in programs):
        card = catalogue.workload(name)
        if isinstance(card, ProfileCard) and card.profile.file.program.read:
            word = f"{name}:{(card.profile.file.argument or '').upper()}".rstrip(":")
            text = (
                f"compared is the time that {name} takes. What it reports: -w {word} in place of -c"
            )
            warnings.warn(WrittenWarning(text), stacklevel=2)


def _amended(folder: StudyFolder, document: Document) -> Amendment | None:
    """What another study changes of the one that is in a folder.

    Returns:
        Nothing, where it is the same study; ``None`` where it is another one, or there is none.
    """
    if not folder.study.is_file():
        return None
    before, now = parsed(read_text(folder.study), folder.study), copy.deepcopy(document)
    budgets = [_taken(each, "precision", "budget") for each in (before, now)]
    fates = [_taken(each, "noise", "disturbed") for each in (before, now)]
    kept, longer = fates[0] != fates[1], budgets[0] != budgets[1]
    # A budget asks for later looks; those of a plan that is there stay.
    profiles = [_taken(each, "precision", "profile") for each in (before, now)]
    if profiles[0] != profiles[1] and not (longer and profiles[0] is None):
        return None
    if before != now or (kept and fates[1] != "keep") or (longer and budgets[1] is None):
        return None
    return Amendment(keep=kept, budget_s=parse_duration(str(budgets[1])) if longer else None)


def _taken(document: Document, table: str, key: str) -> object:
    """The value of a key, which is no longer there; nor its table, if that is empty."""
    own = document.get(table, {})
    value = own.pop(key, None)
    if not own:
        document.pop(table, None)
    return value


def _is_of_network(settings: Sequence[str], workloads: Sequence[str], catalogue: Catalogue) -> bool:
    """Whether what is compared has a client and a server: the workloads say it, or a setting."""
    cards = [catalogue.workload(word.partition(":")[0]) for word in workloads]
    if cards:
        return all(card is not None and card.target == "far" for card in cards)
    own = pair.KIND.Settings.model_fields.keys() - host.KIND.Settings.model_fields.keys()
    return any(setting.partition("=")[0] in own for setting in settings)


def _place(folder: Path) -> Place:
    """Paths as they stand in the study of a folder: those that were typed relative stay so.

    What is typed begins where one stands, a study's paths at its folder.
    """
    root = folder.resolve()

    def placed(typed: str) -> str:
        return typed if typed.startswith("/") else os.path.relpath(Path(typed).absolute(), root)

    return placed


def _name(system: TypedSystem) -> str:
    """A system in the name of a folder."""
    name = Path(system.word).name or "root"
    if "directory" in system.settings and not system.settings.get("host"):
        return name
    return _NO_SLUG.sub("_", system.short or system.word).strip("_")


def _unused(name: str, document: Document, folder: Path | None, *, again: bool) -> StudyFolder:
    """The folder of the same study, else a new one: name, name-2, ….

    Args:
        name: of the folder.
        document: of the study.
        folder: that was asked for; it is taken as it is.
        again: whether a finished study is measured again: a program may have been built since.
    """
    if folder is not None:
        return StudyFolder(folder)
    for number in itertools.count(1):
        found = StudyFolder(Path(name if number == 1 else f"{name}-{number}"))
        if not found.root.exists():
            break
        if not found.study.exists() and not again:
            break
        is_same = _amended(found, document) is not None
        if is_same and not (again and _is_finished(found)):
            break
    return found


def _is_finished(folder: StudyFolder) -> bool:
    """Whether its findings are of all that was measured."""
    try:
        return folder.findings.stat().st_mtime_ns >= folder.journal.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def _word(workload: str) -> str:
    """A workload in the name of a folder: ``fio-mail`` of ``fio:jobs/mail.fio``."""
    name, _, value = workload.partition(":")
    if "=" in value:
        return _NO_SLUG.sub("_", workload).strip("_")
    return "-".join(filter(None, (name, Path(value).stem)))
