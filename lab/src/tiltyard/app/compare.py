"""A comparison that was typed, as a study in a folder."""

import contextlib
import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from tiltyard.app.freeze import place_study, scale_suffix
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256
from tiltyard.run.lock import running_pid
from tiltyard.run.trust import Bringing
from tiltyard.study.compare import TypedCommands, compare_study
from tiltyard.study.load import read_study
from tiltyard.systems import KINDS
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.workloads.catalogue import catalogue_of

_NO_SLUG: Final = re.compile(r"[^A-Za-z0-9.+=-]+")
_SLUG_MAX: Final = 80
_SETTINGS: Final = PairSettings.model_fields.keys()


def typed_study(
    systems: Sequence[str],
    workloads: Sequence[str],
    folder: Path | None = None,
    scale: Fraction | None = None,
    *,
    commands: TypedCommands | None = None,
    within: str | None = None,
    verb: str = "",
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: str | None = None,
) -> StudyFolder:
    """Write the study of a typed comparison; what it brings is trusted as typed.

    Args:
        systems: file systems, directories or settings with a value each.
        workloads: names of workloads; empty: the usual one for such systems, or commands.
        folder: of the study; by default named after the question.
        scale: by how much it will be made smaller.
        commands: commands that were typed.
        within: what counts as equivalent, as it is typed; by default as studies have it.
        verb: begins the name of the folder of commands.
        blocks: see :func:`tiltyard.study.compare.compare_study`, as for the rest.
        budget: wall time as it is typed.
        seed: of the random order.
        disturbed: what becomes of a disturbed block.

    Raises:
        UsageError: if there is no such system or workload, or another study in the folder.
    """
    if commands and workloads:
        raise UsageError(
            "--workload (-w) and --command (-c): a command is the workload itself. Fix: leave one "
            "of them out"
        )
    if not workloads and not commands:
        network = any(system.partition("=")[0] in _SETTINGS for system in systems)
        workloads = ("tcp_stream" if network else "postmark",)
    catalogue = catalogue_of(Engine.find(), StudyFolder(folder or Path("study")))
    text = compare_study(
        systems,
        workloads,
        catalogue,
        [filesystem.name for filesystem in FILESYSTEMS],
        _SETTINGS,
        commands=commands,
        within=within,
        blocks=blocks,
        budget=budget,
        seed=seed,
        disturbed=disturbed,
    )
    names = [Path(system).name or "root" for system in systems]
    if commands:
        slug = "-".join(filter(None, (verb, *names, *commands.names)))
        target = _unused(_NO_SLUG.sub("_", slug).strip("_")[:_SLUG_MAX], text.encode(), folder)
    else:
        words = [*map(_word, workloads), *names]
        target = StudyFolder(folder or Path("-".join(words) + scale_suffix(scale)))
    # A study that cannot be carried out must not stand in the way of the corrected command.
    study = read_study(text, target.study, catalogue, KINDS)
    place_study(target, text.encode())
    # A plan that was in the folder before is not trusted by this.
    hash_ = sha256(text.encode())
    Bringing.among(hash_, study.systems, study.workloads, catalogue, target).trust()
    return target


def remove_unmeasured(folder: StudyFolder) -> None:
    """Remove the folder of a typed study of which nothing was measured, and nobody runs it.

    A refused command leaves nothing in the way of the corrected one.
    """
    written = (folder.study, folder.plan, folder.journal, folder.lock)
    if running_pid(folder) is None and set(folder.root.glob("*")) <= {*written}:
        for path in written:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.root.rmdir()


def _unused(name: str, text: bytes, folder: Path | None) -> StudyFolder:
    """The folder of an unfinished study of the same commands, else a new one: name, name-2, ….

    A program may have been built again since, so the same command measures again.
    """
    if folder is not None:
        return StudyFolder(folder)
    for number in itertools.count(1):
        found = StudyFolder(Path(name if number == 1 else f"{name}-{number}"))
        if not found.root.exists() or (
            found.study.is_file() and found.study.read_bytes() == text and not _is_finished(found)
        ):
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
    return "-".join(filter(None, (name, Path(value).stem)))
