"""Calibrations of this host and of others, kept in the state directory, and the one in force.

A calibration speaks for one machine under one kernel; that of another one is never taken for it.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltyard.folder import sha256, write_whole
from tiltyard.frozen import Frozen
from tiltyard.host.place import HERE, Place
from tiltyard.ownership import own_state_directory

_MACHINE_ID = Path("/etc/machine-id")
_DIGITS = 12


class KeptCalibration(Frozen):
    """What is kept of a calibration beside its page: whose it is, and what it says in short."""

    id: str
    date: str
    """UTC, ISO 8601."""
    machine: str
    kernel: str
    resolution_percent: dict[str, float]
    """The engine's workload → smallest difference that the host could show in it."""


def machine(place: Place = HERE) -> str:
    """A machine as a hash, so that a published calibration does not tell its name.

    Source: machine-id(5), which asks for a hash; the host's name where there is no such file.

    Raises:
        UnreachableError: if it is another one that is not reached.
    """
    known = place.read(_MACHINE_ID) or _uname(place, "n")
    return sha256(f"tiltyard {known}".encode())[:_DIGITS]


def kernel(place: Place = HERE) -> str:
    """The kernel that runs now.

    Raises:
        UnreachableError: if it is that of another host, which is not reached.
    """
    return _uname(place, "srm")


def _uname(place: Place, flags: str) -> str:
    """What uname(1) prints."""
    return place.run(("uname", f"-{flags}")).stdout


def keep(calibration: KeptCalibration, state: Path | None = None) -> Path:
    """Keep a calibration; on return it is on disk, and in force if it is the newest."""
    path = _directory(state) / f"{calibration.id}.json"
    write_whole(path, calibration.model_dump_json(indent=1).encode())
    return path


def in_force(state: Path | None = None, place: Place = HERE) -> KeptCalibration | None:
    """The newest calibration of a machine under the kernel that it has now, if there is one.

    Raises:
        UnreachableError: if it is another one that is not reached.
    """
    kept_here = list(_kept(_directory(state)))
    if not kept_here:
        return None
    own = (machine(place), kernel(place))
    found = [kept for kept in kept_here if (kept.machine, kept.kernel) == own]
    return max(found, key=lambda kept: kept.date, default=None)


def _kept(directory: Path) -> Iterator[KeptCalibration]:
    """All that can be read; what a newer Tiltyard wrote is passed over."""
    for path in sorted(directory.glob("*.json")):
        try:
            yield KeptCalibration.of_json(path.read_bytes())
        except ValueError:
            continue


def _directory(state: Path | None) -> Path:
    return own_state_directory(state) / "calibrations"
