"""Who uses a block device: whoever is found here would lose what it has there.

The kernel knows who has claimed a device for itself (open(2), ``O_EXCL``), but not by name, and
not those who merely read and write it. So each table is read that names one.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.host.devices import loops
from tiltyard.host.devices.block_devices import (
    BlockDevice,
    node_of,
    number_holding,
    number_under,
)
from tiltyard.host.devices.ranges import Base, Range, lies_on, passed_through, range_of
from tiltyard.host.mounts import Mount, mounts

_LET_GO_S = 5.0
_STEP_S = 0.1
_PROC = Path("/proc")
_BLOCK = Path("/sys/block")


@dataclass(frozen=True)
class Use:
    """One use of a device."""

    clause: str
    """As a message takes it: "/dev/sdb1 is mounted on /srv (xfs)"."""
    may_pass: bool = False
    """Whether it may be udev, which looks at a device for a moment after each change of it."""


def users(device: BlockDevice) -> Iterator[Use]:
    """Who uses it, a part of it, or the bytes behind it; what tells most first."""
    parts = {number: node_of(entry) for number, entry in device.parts.items()}
    own = range_of(device.number)
    yield from map(Use, _mounted(parts, own))
    yield from map(Use, _swap(own))
    yield from map(Use, _loops(device, own))
    yield from map(Use, _holders(device))
    for clause in _processes(parts, own):
        yield Use(clause, may_pass=True)
    if clause := _claimed(device):
        yield Use(clause, may_pass=True)


@contextlib.contextmanager
def claimed(device: BlockDevice) -> Iterator[int]:
    """The device, open for writing and ours alone; it may take a moment until others let it go.

    Raises:
        TiltyardError: if somebody does not let it go; the message names who.
    """
    give_up = time.monotonic() + _LET_GO_S
    while True:
        try:
            file = os.open(device.node, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
            break
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up:
                use = next(users(device), Use(str(error.strerror)))
                raise TiltyardError(f"{device}: cannot be had alone: {use.clause}") from None
        time.sleep(_STEP_S)
    try:
        yield file
    finally:
        os.close(file)


def carries(device: BlockDevice, directory: Path) -> bool:
    """Whether a directory lies on the device, however many layers are in between."""
    lowest = number_holding(directory)
    return lowest is not None and _is_on(lowest, range_of(device.number))


def _is_on(number: str, own: Range) -> bool:
    """Whether a device has a byte in a range, however many layers are in between."""
    with contextlib.suppress(OSError):  # of a device that has gone meanwhile
        return any(each.overlaps(own) for each in lies_on(number))
    return False


def _mounted(parts: Mapping[str, str], own: Range) -> Iterator[str]:
    """File systems on it, in every namespace of mounts that a process lives in."""
    asked: dict[str, bool] = {}
    for process in _namespaces():
        try:
            table = mounts(process / "mountinfo")
        except OSError:
            continue
        for mount in table:
            lowest = _number(mount, process)
            if lowest is None:
                continue
            if lowest not in asked:
                asked[lowest] = _is_on(lowest, own)
            if asked[lowest]:
                on = parts.get(lowest, mount.source)
                where = "" if process.name == "self" else f", as process {process.name} sees it"
                yield f"{on} is mounted on {mount.target} ({mount.type}){where}"


def _namespaces() -> Iterator[Path]:
    """One process of each namespace of mounts, ours first."""
    seen: set[str] = set()
    others = [entry for entry in _PROC.iterdir() if entry.name.isdigit()]
    for process in (_PROC / "self", *others):
        try:
            namespace = str((process / "ns/mnt").readlink())
        except OSError:
            continue
        if namespace not in seen:
            seen.add(namespace)
            yield process


def _number(mount: Mount, process: Path) -> str | None:
    """Number of the device that is mounted; btrfs gives another one, so its source is looked at."""
    if not mount.device.startswith("0:"):
        return mount.device
    if not mount.source.startswith("/dev/"):
        return None
    there = process / "root" / mount.source.lstrip("/")
    return number_under(there) or number_under(Path(mount.source))


def _swap(own: Range) -> Iterator[str]:
    """Swap space, on the device or in a file (proc(5))."""
    for line in (_PROC / "swaps").read_text().splitlines()[1:]:
        path = Path(line.split()[0].encode().decode("unicode_escape"))
        lowest = number_under(path) or (number_holding(path) if path.exists() else None)
        if (lowest is not None and _is_on(lowest, own)) or _what(path) == own.base:
            yield f"the host swaps to {path}"


def _holders(device: BlockDevice) -> Iterator[str]:
    """Devices that are made of it: RAID, LVM, multipath, encryption, bcache."""
    for entry in device.parts.values():
        for holder in sorted(entry.glob("holders/*")):
            name = holder / "dm" / "name"
            called = f" ({name.read_text().strip()})" if name.exists() else ""
            yield f"{node_of(entry)} is a part of {node_of(holder)}{called}"


def _loops(device: BlockDevice, own: Range) -> Iterator[str]:
    """Loop devices over bytes of it; the kernel does not call them holders."""
    below = passed_through(device.number)
    for entry in sorted(_BLOCK.glob("loop*")):
        behind = loops.backing_file(node_of(entry))
        if behind is None:
            continue
        with contextlib.suppress(OSError):
            number = (entry / "dev").read_text().strip()
            there = range_of(number)
            if number not in below and there.overlaps(own):
                which = (
                    ""
                    if number_under(behind) in device.parts
                    else f", its bytes {there.start} to {there.end - 1}"
                )
                yield f"{node_of(entry)} is a loop device over {behind}{which}"


def _processes(parts: Mapping[str, str], own: Range) -> Iterator[str]:
    """Programs that have it open, or the file behind it, our own process excepted."""
    for process in _PROC.iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            opened = [what for file in (process / "fd").iterdir() if (what := _what(file))]
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        for what in dict.fromkeys(opened):
            if isinstance(what, str) and what in parts:
                yield f"{parts[what]} is open in process {process.name} ({name})"
            elif what == own.base:
                yield f"what is behind it is open in process {process.name} ({name})"


def _what(path: Path) -> Base | None:
    """The block device or file that a path or a descriptor is of; it may be gone meanwhile."""
    try:
        status = path.stat()
    except OSError:
        return None
    if stat.S_ISBLK(status.st_mode):
        return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _claimed(device: BlockDevice) -> str:
    """The kernel's own word, which also knows those that no table names; empty: nobody."""
    try:
        os.close(os.open(device.node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return f"the kernel does not give it to us alone ({error.strerror})"
    return ""
