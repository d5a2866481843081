"""From a study to its folder, and to its frozen plan."""

import contextlib
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from tiltyard.app.plugins import used_by
from tiltyard.errors import HostLacksError, RefusedError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.host.changes import PREFIX
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.sessions import write_sessions
from tiltyard.run.trust import UntrustedInputs, remember_made, require_made_here
from tiltyard.study.load import load_study, read_text
from tiltyard.study.model import Study
from tiltyard.study.problems import StudyFileError
from tiltyard.study.scaling import scaled
from tiltyard.study_path import study_path
from tiltyard.systems import KINDS
from tiltyard.wire import Catalogue
from tiltyard.workloads.catalogue import catalogue_of, require_installed


def open_study(
    study: Path, folder: Path | None, scale: Fraction | None = None, blocks: int | None = None
) -> StudyFolder:
    """The folder in which a study is, or shall be, carried out.

    Args:
        study: A study folder or a study file, as :func:`tiltyard.study_path.study_path` reads it;
            a file outside of a folder is copied to one of its own.
        folder: Where to carry the study out; by default where it is.
        scale: A file's folder is named after it, so that it does not stand in the whole's way.
        blocks: Exactly so many, instead of what the study says: another study, beside this one.

    Raises:
        UsageError: if there is no study, or another study is in the folder already.
    """
    _, target, text = _resolved(study, folder, scale, blocks)
    place_study(target, text.encode())
    return target


@contextlib.contextmanager
def opened_study(
    study: Path,
    folder: Path | None,
    scale: Fraction | None = None,
    blocks: int | None = None,
    *,
    is_named: bool = True,
) -> Iterator[StudyFolder]:
    """:func:`open_study`; what is refused inside leaves no copy, and is told of the file copied.

    Args:
        study: as there.
        folder: as there; what lies in it is taken as it is, since it is named.
        scale: as there.
        blocks: as there.
        is_named: whether a study folder is so, too, by being typed as the study.

    Raises:
        RefusedError: if what lies in a folder that nobody has named was not made here.
    """
    source, target, text = _resolved(study, folder, scale, blocks)
    if folder is None and not (is_named and target.root == source.parent):
        require_made_here(target)
    is_new, existed = not target.study.exists(), target.root.exists()
    place_study(target, text.encode())
    with rollback_unless_started(target, existed=existed) if is_new else contextlib.nullcontext():
        try:
            yield target
        except StudyFileError as error:
            if error.source != target.study or text != read_text(source):
                raise
            raise StudyFileError(source, error.problems) from error


@contextlib.contextmanager
def rollback_unless_started(folder: StudyFolder, *, existed: bool) -> Iterator[None]:
    """Where it is refused inside, leave no folder of a study of which nothing was measured.

    Args:
        folder: of the study; what is not ours in it stays.
        existed: whether it was there before.
    """
    begun, piloted = folder.journal.exists(), folder.pilot.root.exists()
    try:
        yield
    except (HostLacksError, RefusedError, UsageError):
        trials = (one.trials for one in (folder, folder.pilot) if one.trials.is_dir())
        if not begun and not any(any(own.iterdir()) for own in trials):
            if not piloted:
                _forget(folder.pilot, existed=False)
            _forget(folder, existed=existed)
        raise


def _forget(folder: StudyFolder, *, existed: bool) -> None:
    """Take away what we made."""
    for file in (folder.study, folder.plan, folder.journal, folder.lock):
        file.unlink(missing_ok=True)
    for directory in (folder.trials, folder.work, *(() if existed else (folder.root,))):
        with contextlib.suppress(OSError):
            directory.rmdir()


def _resolved(
    study: Path, folder: Path | None, scale: Fraction | None, blocks: int | None
) -> tuple[Path, StudyFolder, str]:
    """The file that a person has, the folder that the study goes to, and what it says there."""
    study = study_path(study)
    if blocks is not None:
        return _with_blocks(study, folder, scale, blocks)
    if study.is_file():
        root = folder or study.with_name(study.stem + scale_suffix(scale))
        source, target = study, StudyFolder(root, written_in=study.parent)
    else:
        begun = StudyFolder.of(study)
        source = begun.study
        target = StudyFolder(folder, written_in=_origin(begun)) if folder else begun
    return source, target, read_text(source)


def _origin(begun: StudyFolder) -> Path:
    """Where relative paths of a study in a folder begin, wherever else it is carried out."""
    known = read_plan(begun).paths_from if begun.plan.exists() else ""
    return begun.root.resolve() / known


def _with_blocks(
    study: Path, folder: Path | None, scale: Fraction | None, blocks: int
) -> tuple[Path, StudyFolder, str]:
    """The same study with so many blocks and one look, in a folder of its own."""
    if study.is_file():
        source, named, origin = study, study.with_suffix(""), study.parent
    else:
        begun = StudyFolder.of(study)
        source, named = begun.study, begun.root.resolve()
        origin = _origin(begun)
    root = folder or named.with_name(f"{named.name}{scale_suffix(scale)}-{blocks}")
    target = StudyFolder(root, written_in=origin)
    return source, target, _fixed(read_text(source), source, named, blocks)


def _fixed(text: str, source: Path, folder: Path, blocks: int) -> str:
    """The text of a study with so many blocks, and nothing that would end it earlier."""
    table = re.compile(r"^[ \t]*\[precision\].*\n?((?:(?![ \t]*\[).*\n?)*)", re.M)
    try:
        stated = tomllib.loads(text)
    except (ValueError, RecursionError):
        return text  # Whoever loads it says what is wrong, and in which line.
    for path in _texts((stated.get("factors"), stated.get("systems"))):
        leaves = Path(path).is_absolute() or Path(path).parts[:1] in ((), ("..",))
        if not leaves and os.path.isdir(folder / path):  # noqa: PTH112 - a long text is no path
            raise UsageError(
                f'{source}: "{path}" lies in the folder of this study; another folder has it not. '
                f'Fix: write "{(folder / path).resolve()}"'
            )
    if "precision" not in stated:
        text = f"{text.rstrip()}\n\n[precision]\n"
    if not (found := table.search(text)):
        raise UsageError(
            f"{source}: --blocks wants a table [precision]. Fix: write blocks = {blocks} there"
        )
    kept = re.sub(r"^\s*(blocks|profile|budget)\s*=.*\n?", "", found[1], flags=re.M)
    head = f"[precision]\nblocks = {blocks}\n"
    return f"{text[: found.start()]}{head}{kept}{text[found.end() :]}"


def _texts(value: object) -> Iterator[str]:
    """Every text in a value of TOML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def scale_suffix(scale: Fraction | None) -> str:
    """What the name of a scaled study's folder ends in: ``-1-64``; nothing for a whole one."""
    return "" if scale in (None, 1) else f"-{scale}".replace("/", "-")


@contextlib.contextmanager
def rehearsal_of(study: Path) -> Iterator[tuple[Path, StudyFolder]]:
    """A study file, and a folder to rehearse it in: its own, or one beside it that goes again.

    Args:
        study: A study folder or a study file, as :func:`tiltyard.study_path.study_path` reads it.

    Raises:
        UsageError: if there is no study.
        HostLacksError: if nothing can be written beside such a file.
    """
    study = study_path(study)
    if not study.is_file():
        folder = StudyFolder.of(study)
        yield folder.study, folder
        return
    try:
        beside = tempfile.TemporaryDirectory(prefix=f"{PREFIX}check-", dir=study.parent)
    except OSError as error:
        raise HostLacksError(f"{study.parent}: {error.strerror}") from error
    with beside as root:
        # Paths begin where they would when it is run: see open_study.
        yield study, StudyFolder(Path(root), study.with_suffix(""), study.parent)


def place_study(folder: StudyFolder, text: bytes) -> None:
    """Put a study file in its folder, unless the same one is there.

    Raises:
        UsageError: if another study is there.
        RefusedError: if another user has a hand in the folder.
    """
    folder.require_own()
    existed = folder.root.exists()
    if not folder.study.exists():
        try:
            write_whole(folder.study, text)
        except OSError:
            # An empty folder would stand in the way of the same command.
            if not existed:
                with contextlib.suppress(OSError):
                    folder.root.rmdir()
            raise
    elif read_text(folder.study).encode() != text:
        raise UsageError(
            f"{folder.study}: another study is in this folder. Choose one with --folder, "
            f"or go on with that one: tiltyard run {folder.root}"
        )


def frozen(
    source: Path, engine: Engine, scale: Fraction | None, folder: StudyFolder | None = None
) -> Plan:
    """The plan of a study file as it would be frozen now.

    Args:
        source: The study file.
        engine: Checks every parameter.
        scale: By how much the study is made smaller; ``None``: as it says itself.
        folder: Where it is carried out; by default where the file is.
    """
    folder = folder or StudyFolder(source.parent)
    if folder.written_in is None and folder.plan.exists():
        # A plan of a study that was changed since is none, and tells nothing.
        with contextlib.suppress(UsageError):
            known = folder.study_root / read_plan(folder).paths_from
            folder = replace(folder, written_in=known)
    catalogue = catalogue_of(engine, folder)
    study = load_study(source, catalogue, KINDS)
    return _frozen(study, source, engine, catalogue, scale, folder)


def _frozen(
    study: Study,
    source: Path,
    engine: Engine,
    catalogue: Catalogue,
    scale: Fraction | None,
    folder: StudyFolder,
) -> Plan:
    study = scaled(study, scale, catalogue, KINDS)
    elsewhere = all(system.elsewhere for system in study.systems)
    require_installed(study.workloads, catalogue, elsewhere=elsewhere)
    now = datetime.now(UTC)
    plan = freeze(study, source, catalogue, engine.validate, now, folder)
    _require_no_guest(plan, engine)
    plugins = used_by(plan, catalogue, engine, folder.study_root)
    return plan.model_copy(update={"plugins": plugins}) if plugins else plan


def _require_no_guest(plan: Plan, engine: Engine) -> None:
    """Refuse what would have to be executed in a guest, which has our own engine and no other."""
    for workload in plan.workloads:
        its = engine.of(workload.spec.use)
        guests = [one.name for one in plan.systems if KINDS.named(one.kind).in_guest]
        if its is not engine and guests:
            raise UsageError(
                f"{workload.spec.name}: {its} has it, which is not in a guest, and {guests[0]} is "
                "one. Fix: another workload, or other systems"
            )


def planned(
    folder: StudyFolder,
    engine: Engine,
    scale: Fraction | None = None,
    *,
    trust: bool = False,
    study: Study | None = None,
) -> Plan:
    """The plan of a study that is to be carried out; frozen now if it has none.

    Args:
        folder: The study.
        engine: Checks every parameter.
        scale: By how much the study is made smaller; ``None``: as it was, or not.
        trust: A person says that what the study brings may be executed.
        study: What is in its file, if that is known.

    Raises:
        RefusedError: if that is not trusted; nothing is written.
        UsageError: if it was frozen at another scale than the one that is asked for.
    """
    catalogue = catalogue_of(engine, folder)
    if folder.plan.exists():
        plan = at_scale(folder, scale)
        if plan.session > 1:
            raise UsageError(
                f"{folder.root}: is session {plan.session} of a study, and is carried out with it: "
                f"tiltyard run {folder.root.parent.parent}"
            )
    else:
        study = study or load_study(folder.study, catalogue, KINDS)
        plan = _frozen(study, folder.study, engine, catalogue, scale, folder)
    UntrustedInputs.of(plan, catalogue, folder).require_trusted(folder.root, trust=trust)
    remember_made(folder, {folder.plan: plan.hash})
    if not folder.plan.exists():
        write_plan(folder, plan)
    write_sessions(folder, plan)
    return plan


def at_scale(folder: StudyFolder, scale: Fraction | None) -> Plan:
    """The plan that is there, if it is of the scale that is asked for; ``None``: of any.

    Raises:
        UsageError: if it is of another one.
    """
    plan = read_plan(folder)
    begun = Fraction(plan.scaled.by) if plan.scaled else Fraction(1)
    if scale is not None and scale != begun:
        how = f"scaled by {begun}" if plan.scaled else "at its whole size"
        raise UsageError(
            f"{folder.root}: this study was begun {how}, not at --scale {scale}. "
            "Go on without --scale, or begin it in another folder"
        )
    return plan
