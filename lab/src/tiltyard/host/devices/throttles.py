"""Limits of a block device's bandwidth, set by the kernel's I/O controller (cgroup v1, blkio).

They are set on the root group, so that they hold for whoever uses the device, for the kernel's own
writeback too. Version 2 of the controller (io.max) has no limits on its root group.

Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst of the kernel.
"""

from pathlib import Path

from tiltyard.errors import HostLacksError

_GROUP = Path("/sys/fs/cgroup/blkio")
_LIMITS = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_NUMBER = Path("/sys/class/block")


def missing() -> str | None:
    """What this host lacks to limit a device; ``None`` if it can."""
    if all((_GROUP / name).exists() for name in _LIMITS):
        return None
    return f"this kernel has no I/O controller of cgroup v1 with limits ({_GROUP / _LIMITS[0]})"


def set_limit(device: str, bytes_per_s: int) -> None:
    """Limit reads and writes, each; 0 takes the limits away.

    Raises:
        HostLacksError: if the kernel does not take it.
    """
    number = (_NUMBER / Path(device).name / "dev").read_text().strip()
    for name in _LIMITS:
        try:
            (_GROUP / name).write_text(f"{number} {bytes_per_s}")
        except OSError as error:
            raise HostLacksError(f"{_GROUP / name}: {error.strerror}") from error
    if limit_of(device) != bytes_per_s:
        raise HostLacksError(f"{device}: the kernel did not take a limit of {bytes_per_s} B/s")


def limit_of(device: str) -> int:
    """Bytes per second that a device is limited to; 0 if it is not."""
    number = (_NUMBER / Path(device).name / "dev").read_text().strip()
    for name in _LIMITS:
        for line in (_GROUP / name).read_text().splitlines():
            which, _, limit = line.partition(" ")
            if which == number:
                return int(limit)
    return 0
