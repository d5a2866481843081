"""Limits of a block device's bandwidth, set by the kernel's I/O controller (cgroup v1, blkio).

Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst of the kernel.
"""

from pathlib import Path

from tiltyard.host.place import HERE, Place

_GROUP = Path("/sys/fs/cgroup/blkio")
_LIMITS = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")


def missing(place: Place = HERE) -> str | None:
    """What a host lacks to limit a device; ``None`` if it can."""
    wanted = [str(_GROUP / name) for name in _LIMITS]
    if place.find_all(wanted).keys() >= {*wanted}:
        return None
    return f"this kernel has no I/O controller of cgroup v1 with limits ({wanted[0]})"
