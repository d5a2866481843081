"""What may go of what earlier runs have left: images, unfinished files, kernels, reports.

A study's file, plan, journal, trials and findings are never among it, and nothing of a study that
is being run, or that is mounted or attached.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tiltyard.charts.drawings import drawings_directory
from tiltyard.errors import TiltyardError, UsageError
from tiltyard.folder import PARTIAL, StudyFolder
from tiltyard.frozen import Frozen
from tiltyard.host.changes import PREFIX
from tiltyard.host.devices.loops import devices_of
from tiltyard.host.place import HERE
from tiltyard.run.lock import running_pid
from tiltyard.systems.vm.kernels import kernels_directory

_DEPTH: Final = 2
"""Study folders are looked for so many levels below the one that is named."""
_SIZE_S: Final = 3600.0
"""Longest wait for du(1)."""
_REMOVAL_S: Final = 24 * 3600.0
"""Nobody waits longer for what millions of files take."""


class Leftover(Frozen):
    """Something that may go."""

    path: str
    what: str
    size_bytes: int
    """What it takes on the disk."""


class Cleaned(Frozen):
    """What may go, or has gone."""

    leftovers: tuple[Leftover, ...]
    free_bytes: int
    removed: bool = False


def leftovers(folders: Iterable[Path], *, everything: bool = False) -> Cleaned:
    """Look for them; nothing is changed.

    Args:
        folders: study folders, or folders with some in them.
        everything: also what can be made again: reports, kernels of virtual machines,
            drawings.

    Raises:
        RefusedError: if another user has a hand in a study folder.
        UsageError: if there is no such folder.
    """
    used = [mount.target for mount in HERE.mounts()]
    found: dict[Path, Leftover] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder")
        for path, what in _in(folder.resolve(), everything):
            if not any(target.is_relative_to(path) for target in used) and not devices_of(path):
                found[path] = Leftover(path=str(path), what=what, size_bytes=_size_bytes(path))
    for path, what in (
        (kernels_directory(), "kernels of virtual machines (guest-kernels)"),
        (drawings_directory(), "drawings of charts (tiltyard report)"),
    ):
        if everything and path.is_dir():
            found[path] = Leftover(path=str(path), what=what, size_bytes=_size_bytes(path))
    return Cleaned(
        leftovers=tuple(found.values()), free_bytes=sum(one.size_bytes for one in found.values())
    )


def remove(found: Cleaned) -> Cleaned:
    """Remove all of it.

    Raises:
        TiltyardError, OSError: if something cannot be removed; what was removed before is gone.
    """
    for one in found.leftovers:
        path = Path(one.path)
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)
        else:
            path.unlink(missing_ok=True)
    return found.model_copy(update={"removed": True})


def remove_tree(path: Path) -> None:
    """Remove a directory with all that is in it, whatever programs have made of it.

    Raises:
        TiltyardError: if something in it stays, which it names with the fix; the rest is gone.
        HostLacksError: if there is no engine, which removes it.
    """
    with contextlib.suppress(OSError):
        return path.rmdir()
    engine = HERE.engine
    try:
        HERE.run((engine, "remove", str(path)), timeout_s=_REMOVAL_S)
    except TiltyardError as error:
        raise type(error)(f"{path}: {str(error).partition(': ')[2] or error}") from error


def _in(folder: Path, everything: bool) -> Iterator[tuple[Path, str]]:
    """What may go in a folder and those below it: path and what it is."""
    for root in _folders(folder, _DEPTH):
        for path in _entries(root):
            if path.name.startswith(f"{PREFIX}check-") and path.is_dir():
                yield path, "left by a check that was killed"
        study = StudyFolder(root)
        if not study.study.is_file() or running_pid(study) is not None:
            continue
        study.require_own()
        study.require_plain()
        for work in (study.work, study.pilot.work):
            for path in _entries(work):
                if path.name.startswith(PREFIX):
                    yield path, "left by a run that was killed"
        for path in _entries(root):
            if path.name.endswith(PARTIAL):
                yield path, "unfinished file"
        if everything and study.report.is_dir():
            yield study.report, f"report (tiltyard report {root})"


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    for path in _entries(folder) if depth else ():
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            yield from _folders(path, depth - 1)


def _entries(folder: Path) -> list[Path]:
    """In order; of what is no folder, or may not be read, none."""
    try:
        return sorted(folder.iterdir())
    except (NotADirectoryError, FileNotFoundError, PermissionError):
        return []


def _size_bytes(path: Path) -> int:
    """What it takes on the disk, which of a sparse file is less than its size."""
    # A program may have left directories deeper than what recurses, and paths, are.
    told = HERE.run(("du", "-s", "-k", str(path)), timeout_s=_SIZE_S).stdout
    return int(told.split()[0]) * 1024
