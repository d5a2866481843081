"""When a block device may be formatted: it is the one that was meant, nobody uses it, it is blank.

A device is opened once by the name that a person gave; from then on the kernel's own name for
what is open is used, so a link that is turned elsewhere afterwards changes nothing. As long as it
is open its number is not given to another device. Every check is made again at the last moment.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import BusyError, RefusedError
from tiltyard.host.devices.block_devices import BlockDevice, number_under
from tiltyard.host.devices.contents import first_written, forget_cache, signatures
from tiltyard.host.devices.places import ends, looked_at
from tiltyard.host.devices.users import Use, carries, users

_PATIENCE_S = 5.0
"""How long udev may look at a device after a change of it."""
_STEP_S = 0.1


@dataclass(frozen=True)
class Wanted:
    """The device that a person means, and how it is distinguished from others."""

    given: Path
    size_bytes: int
    marks: Mapping[str, str]
    """What was said of it beside its size: ``serial``, ``wwn``, ``partuuid``, ``backing_file``."""
    keep: tuple[Path, ...] = ()
    """Directories that must not lie on it, beside the root directory."""


@dataclass(frozen=True)
class Held:
    """A device that is open, and so stays itself."""

    device: BlockDevice
    file: int


@contextlib.contextmanager
def hold(wanted: Wanted) -> Iterator[Held]:
    """Open the device that is meant, and keep others from formatting it as long as that lasts.

    The lock is the one that udev and partitioning tools respect
    (https://systemd.io/BLOCK_DEVICE_LOCKING).

    Raises:
        RefusedError: if it is not the one that is meant.
        BusyError: if another program has locked it.
    """
    device = BlockDevice.at(wanted.given)
    try:
        file = os.open(device.node, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(device, f"it cannot be opened ({error.strerror})") from None
    try:
        _require_unchanged(device, file)
        if (reason := mistaken(device, wanted)) is not None:
            raise _refused(device, reason)
        if (use := _lasting(lambda: _locked(file))) is not None:
            raise _refused(device, use.clause, BusyError)
        yield Held(device, file)
    finally:
        os.close(file)


def require_unused(held: Held, wanted: Wanted) -> None:
    """Make sure that the device may be used: nobody else does, and nothing of ours lies on it.

    Raises:
        RefusedError: if not; the message names the device and the reason.
        BusyError: if somebody else uses it.
    """
    device = held.device
    _require_unchanged(device, held.file)
    if (reason := _unusable(device, wanted)) is not None:
        raise _refused(device, reason)
    if (use := _lasting(lambda: next(users(device), None))) is not None:
        raise _refused(device, use.clause, BusyError)


def require_blank(held: Held) -> None:
    """Make sure that nothing is on the device.

    Raises:
        RefusedError: if something is; the message says what, and how a person removes it.
    """
    if (reason := _contents(held)) is not None:
        raise _refused(held.device, reason)


def refusal(wanted: Wanted) -> RefusedError | None:
    """Why the device would be refused now; looks only, for a person to see beforehand."""
    try:
        with hold(wanted) as held:
            require_unused(held, wanted)
            require_blank(held)
    except RefusedError as error:
        return error
    return None


def mistaken(device: BlockDevice, wanted: Wanted) -> str | None:
    """Why it is not the one that is meant: size first, then every mark that was named."""
    if not device.size_bytes:
        return "it has no size: no medium, or nothing is attached"
    if device.size_bytes != wanted.size_bytes:
        return f"the study says that it has {wanted.size_bytes} bytes"
    known = {
        "serial": device.serial,
        "wwn": device.wwn,
        "partuuid": device.partuuid,
        "backing_file": str(device.backing_file) if device.backing_file else None,
    }
    for name, said in wanted.marks.items():
        if known[name] != said:
            there = f'"{known[name]}"' if known[name] else "none"
            return f'its {name} is {there}, the study says "{said}"'
    return _unnamed(wanted, {name: mark for name, mark in known.items() if mark})


def _unnamed(wanted: Wanted, known: Mapping[str, str]) -> str | None:
    """A place on a bus is no identity where the device has one: disks are exchanged."""
    if wanted.marks or not known or is_identity(wanted.given):
        return None
    name, mark = next(iter(known.items()))
    return f'the study names none of its marks; confirm = {{ {name} = "{mark}", … }} would'


def is_identity(given: Path) -> bool:
    """Whether a name is made of the device's own marks, so that it means that one alone."""
    return given.parent in (Path("/dev/disk/by-id"), Path("/dev/disk/by-partuuid"))


def _unusable(device: BlockDevice, wanted: Wanted) -> str | None:
    """The first reason not to use it."""
    if (device.entry / "ro").read_text().strip() != "0":
        return "it is read-only"
    for directory in (Path("/"), *wanted.keep):
        if carries(device, directory):
            return f"{directory} lies on it"
    return None


def _contents(held: Held) -> str | None:
    """What is on it, with the command by which a person removes it."""
    device = held.device
    forget_cache(held.file)
    found = signatures(device.node)
    if found:
        others = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return (
            f"it carries {found[0]}{others}. Tiltyard does not erase that; "
            f"if nobody needs it: wipefs --all {device.given}"
        )
    written = first_written(held.file, looked_at(held.file, device.size_bytes))
    if written is None:
        return None
    at_an_end = (each for each in ends(device.size_bytes) if each[0] <= written < each[1])
    start, end = next(at_an_end, (0, device.size_bytes))
    which = f"--offset {start} --length {end - start} " if end - start < device.size_bytes else ""
    return (
        f"its byte {written} is not zero, so something unknown may be there; if nobody needs it: "
        f"blkdiscard --zeroout {which}{device.given}"
    )


def _require_unchanged(device: BlockDevice, file: int) -> None:
    """What is open is what the name means, and the kernel still has it."""
    number = os.fstat(file).st_rdev
    still = f"{os.major(number)}:{os.minor(number)}"
    if number_under(device.given) != still or not device.entry.exists():
        raise _refused(device, "the name means another device now, or it is gone")
    if device.number != still:
        raise _refused(device, f"what was opened has the number {still}, not {device.number}")


def _locked(file: int) -> Use | None:
    """Lock the device, or say that another program has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Use("another program has locked it", may_pass=True)
    return None


def _lasting(find: Callable[[], Use | None]) -> Use | None:
    """A use that is still there after a moment, if it is of those that may pass."""
    give_up = time.monotonic() + _PATIENCE_S
    while (use := find()) is not None and use.may_pass and time.monotonic() < give_up:
        time.sleep(_STEP_S)
    return use


def _refused(
    device: BlockDevice, reason: str, kind: type[RefusedError] = RefusedError
) -> RefusedError:
    """In one form: which device, that nothing was done, why."""
    return kind(f"{device}: refused, nothing was written: {reason}")
