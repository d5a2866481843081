"""Which file a study means by a kernel, what that file is, and which modules a guest needs of it.

The engine there looks at the files: nothing of them is executed to learn it.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter

from tiltyard.frozen import Frozen
from tiltyard.host.place import HERE, Place
from tiltyard.ownership import cache_directory, expanded

_SUM: Final = re.compile(r"\\?([0-9a-f]{64}) ")
"""Of sha256sum(1); the first sign is of a name with odd ones."""
_SERIES: Final = re.compile(r"\d+\.\d+")
UNPACK: Final = f"sh {shlex.quote(str(Path(__file__).with_name('guest-kernels')))}"
"""The command that downloads and unpacks them, followed by their series."""
_THERE: Final = ".cache/tiltyard/kernels"
"""On another host, below the home of the login."""


class Kernel(Frozen):
    """What a file is."""

    machine: int | None
    """``e_machine`` of a program (:func:`tiltyard.elf.named`)."""
    boots_as: Literal["pc", "uml"] | None
    """An image for a PC, a program that is User-Mode Linux, or nothing that boots."""
    release: str | None
    """As its modules' directory is called; not known of what does not say it."""
    modules: Path | None
    """Where its modules are, if they are beside it."""


class Module(Frozen):
    """A file, and what tells whether it is still the same."""

    path: Path
    bytes: int
    modified_ns: int


class Wanted(Frozen):
    """What a guest wants of its kernel."""

    missing: tuple[str, ...] = ()
    """Names of which that has nothing."""
    files: tuple[Module, ...] = ()
    """Of modules, each after those that it needs; what is built in has none."""


_HASHED_S: Final = 3600.0
"""Of a whole operating system on a disk image."""
_sums: Final[dict[tuple[Place, str, str], str]] = {}
_KERNEL: Final = TypeAdapter(Kernel)
_WANTED: Final = TypeAdapter(Wanted)


def kernels_directory() -> Path:
    """Where they lie: ``$TILTYARD_KERNELS``, else in the user's cache."""
    if named := os.environ.get("TILTYARD_KERNELS"):
        return Path(named)
    return cache_directory() / "kernels"


def kernel_of_series(name: str, place: Place = HERE) -> Path | None:
    """Where the kernel of a series is expected, ``6.12``; ``None`` if that is no series."""
    if not _SERIES.fullmatch(name):
        return None
    above = place.home / _THERE if place.is_remote else kernels_directory()
    return above / name / "vmlinuz"


def kernel_named(name: str, given: Callable[[Path], Path], place: Place = HERE) -> Path | None:
    """The file of a kernel: a path, a series, or a program's name; ``None`` if there is none.

    Args:
        name: as the study has it.
        given: where a path of the study is.
        place: the host that has it.
    """
    path = kernel_of_series(name, place)
    if path is None and "/" not in name:
        program = place.program(name)
        return Path(program) if program else None
    path = path or given(Path(name))
    return path if is_file(path, place) else None


def beside(root: Path) -> Callable[[Path], Path]:
    """Where a path of a study is whose folder is on this host."""
    return lambda path: root / expanded(path)


def is_file(path: Path, place: Place = HERE) -> bool:
    """Whether there is a file."""
    return place.passes(("-f", str(path)))[0]


def look_at(file: Path, place: Place = HERE) -> Kernel:
    """What a file is.

    Raises:
        TiltyardError: if it cannot be read.
    """
    said = place.run((place.engine, "kernel", str(file))).stdout
    with place.understood():
        return _KERNEL.validate_json(said)


def wanted_of(directory: Path, names: Iterable[str], place: Place = HERE) -> Wanted:
    """What a guest must load of a kernel's modules.

    Args:
        directory: of the modules of one kernel, as depmod(8) leaves it.
        names: modules, or their aliases.
        place: the host that has them.

    Raises:
        TiltyardError: if depmod(8) has not been there.
    """
    said = place.run((place.engine, "modules", str(directory), *names)).stdout
    with place.understood():
        return _WANTED.validate_json(said)


def sums(files: Iterable[Path], place: Place = HERE) -> list[str]:
    """SHA-256 of files, in hex; computed again only where one was written, or exchanged.

    Raises:
        HostLacksError: if one cannot be read.
    """
    paths = [str(path) for path in files]
    if not paths:
        return []
    told = place.run(("stat", "-L", "-c", "%d %i %s %y %z", *paths)).stdout.splitlines()
    with place.understood():
        keys = [(place, path, line) for path, line in zip(paths, told, strict=True)]
    if left := [key for key in keys if key not in _sums]:
        argv = ("sha256sum", *(path for _, path, _ in left))
        lines = place.run(argv, timeout_s=_HASHED_S).stdout.splitlines()
        with place.understood():
            for key, line in zip(left, lines, strict=True):
                found = _SUM.match(line)
                assert found is not None, line
                _sums[key] = found[1]
    return [_sums[key] for key in keys]
