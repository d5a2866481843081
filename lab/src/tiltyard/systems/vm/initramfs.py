"""The initial file system of a guest: the engine as its only program, and the modules it needs.

The format is cpio's "newc" (https://docs.kernel.org/driver-api/early-userspace/buffer-format.html),
uncompressed, so that any kernel can read it and none has to unpack it. Owner and time are zero and
the order is fixed: the same contents give the same bytes.
"""

import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import HostLacksError
from tiltyard.folder import sha256
from tiltyard.systems.vm.modules import contents

_DIRECTORIES = ("dev", "proc", "sys", "tmp", "modules")
_CONSOLE = (5, 1)
"""Major and minor number of /dev/console, without which init could not say anything."""
_END = "TRAILER!!!"
_ALIGNMENT = 4

_ELF_CLASS_64 = b"\x7fELF\x02\x01"
_PT_INTERP = 3


@dataclass(frozen=True)
class _Entry:
    """A file of the archive."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def build(engine: Path, modules: Sequence[Path]) -> bytes:
    """The archive.

    Args:
        engine: becomes ``/init``; must be a static program.
        modules: in the order in which the guest shall load them.

    Raises:
        HostLacksError: if the engine needs libraries.
    """
    program = engine.read_bytes()
    if not is_static(program):
        raise HostLacksError(
            f'{engine} needs libraries that no guest has; "make build" builds one that does not'
        )
    return b"".join(_newc(_entries(program, modules)))


def name_of(engine: Path, modules: Sequence[Path]) -> str:
    """A file name that changes with whatever goes into the archive."""
    told = "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in modules)
    return f"initramfs-{sha256(engine.read_bytes() + told.encode())[:16]}.cpio"


def is_static(program: bytes) -> bool:
    """Whether an ELF program asks for no interpreter (elf(5), ``PT_INTERP``)."""
    if not program.startswith(_ELF_CLASS_64):
        return False
    begin, size, count = (
        int.from_bytes(program[at : at + width], "little")
        for at, width in ((32, 8), (54, 2), (56, 2))
    )
    headers = (begin + number * size for number in range(count))
    return all(int.from_bytes(program[at : at + 4], "little") != _PT_INTERP for at in headers)


def _entries(program: bytes, modules: Sequence[Path]) -> Iterator[_Entry]:
    """What is in it, parents first."""
    for name in _DIRECTORIES:
        yield _Entry(name, stat.S_IFDIR | 0o755)
    yield _Entry("dev/console", stat.S_IFCHR | 0o600, device=_CONSOLE)
    yield _Entry("init", stat.S_IFREG | 0o755, program)
    order = []
    for path in modules:
        name = f"modules/{path.name.partition('.ko')[0]}.ko"
        order.append(f"/{name}\n")
        yield _Entry(name, stat.S_IFREG | 0o644, contents(path))
    yield _Entry("modules/order", stat.S_IFREG | 0o644, "".join(order).encode())


def _newc(entries: Iterable[_Entry]) -> Iterator[bytes]:
    """Header, name and data of each, and the last header."""
    number = 0
    for number, entry in enumerate(entries, start=1):
        yield from _record(number, entry)
    yield from _record(number + 1, _Entry(_END, 0))


def _record(number: int, entry: _Entry) -> Iterator[bytes]:
    """One file."""
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    size_bytes = len(entry.data)
    fields = (number, entry.mode, 0, 0, links, 0, size_bytes, 0, 0, *entry.device, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    yield header + name + _padding(len(header) + len(name))
    yield entry.data + _padding(size_bytes)


def _padding(size_bytes: int) -> bytes:
    """Zeros up to the next border."""
    return bytes(-size_bytes % _ALIGNMENT)
