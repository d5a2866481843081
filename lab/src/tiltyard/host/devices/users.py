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
    beneath,
    node_of,
    number_holding,
    number_under,
)
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
    """Who uses it or one of its partitions; what tells most first."""
    parts = {number: node_of(entry) for number, entry in device.parts.items()}
    for find in (_mounted, _swap, _loops):
        yield from map(Use, find(parts))
    yield from map(Use, _holders(device))
    for clause in _processes(parts):
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
    return lowest is not None and device.number in beneath(lowest)


def _mounted(parts: Mapping[str, str]) -> Iterator[str]:
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
                asked[lowest] = any(number in parts for number in beneath(lowest))
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


def _swap(parts: Mapping[str, str]) -> Iterator[str]:
    """Swap space, on the device or in a file (proc(5))."""
    for line in (_PROC / "swaps").read_text().splitlines()[1:]:
        path = Path(line.split()[0].encode().decode("unicode_escape"))
        lowest = number_under(path) or (number_holding(path) if path.exists() else None)
        if lowest is not None and any(number in parts for number in beneath(lowest)):
            yield f"the host swaps to {path}"


def _holders(device: BlockDevice) -> Iterator[str]:
    """Devices that are made of it: RAID, LVM, multipath, encryption, bcache."""
    for entry in device.parts.values():
        for holder in sorted(entry.glob("holders/*")):
            name = holder / "dm" / "name"
            called = f" ({name.read_text().strip()})" if name.exists() else ""
            yield f"{node_of(entry)} is a part of {node_of(holder)}{called}"


def _loops(parts: Mapping[str, str]) -> Iterator[str]:
    """Loop devices over it; the kernel does not call them holders."""
    for entry in sorted(_BLOCK.glob("loop*")):
        behind = loops.backing_file(node_of(entry))
        if behind is not None and number_under(behind) in parts:
            yield f"{node_of(entry)} is a loop device over {behind}"


def _processes(parts: Mapping[str, str]) -> Iterator[str]:
    """Programs that have it open, our own process excepted."""
    for process in _PROC.iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            opened = [number for file in (process / "fd").iterdir() if (number := _opened(file))]
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        for number in dict.fromkeys(opened):
            if number in parts:
                yield f"{parts[number]} is open in process {process.name} ({name})"


def _opened(file: Path) -> str | None:
    """Number of the block device that a descriptor is of; it may have been closed meanwhile."""
    try:
        status = file.stat()
    except OSError:
        return None
    is_block = stat.S_ISBLK(status.st_mode)
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}" if is_block else None


def _claimed(device: BlockDevice) -> str:
    """The kernel's own word, which also knows those that no table names; empty: nobody."""
    try:
        os.close(os.open(device.node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return f"the kernel does not give it to us alone ({error.strerror})"
    return ""
