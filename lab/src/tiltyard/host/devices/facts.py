"""What a block device says of itself, for the system record."""

from pathlib import Path

from tiltyard.host.devices.block_devices import BlockDevice, disk_entry
from tiltyard.host.devices.disks import stack_under
from tiltyard.host.facts import ABSENT
from tiltyard.host.place import HERE, Place
from tiltyard.units import format_size

_CACHE = {
    "write back": "write back: a write is answered before it is durable, until it is flushed",
    "write through": "write through: none, or one that survives a loss of power, or so it says",
}


def device_facts(device: BlockDevice) -> dict[str, str]:
    """Its identity and its make, in names that a reader knows."""
    queue = disk_entry(device.entry) / "queue"
    below = ", ".join(sorted(each.name for each in device.entry.glob("slaves/*")))
    logical, physical = _text(queue / "logical_block_size"), _text(queue / "physical_block_size")
    return {
        "device": str(device.given),
        "device node": device.node,
        "device size": f"{format_size(device.size_bytes)} ({device.size_bytes} bytes)",
        "device model": device.model or ABSENT,
        "device serial": device.serial or ABSENT,
        "device firmware": device.firmware or ABSENT,
        **({"image behind it": str(device.backing_file)} if device.backing_file else {}),
        "device blocks": f"logical {logical} B, physical {physical} B",
        "write cache of the device": _write_cache(queue),
        "rotational flag": f"{_text(queue / 'rotational')}, as the kernel says; virtual disks lie",
        "discard": _discard(queue),
        **({"device lies on": below} if below else {}),
    }


def cache_under(directory: Path, place: Place = HERE) -> str:
    """Of the disk that a directory lies on, in the same words."""
    stack = stack_under(directory, place)
    return _write_cache(Path("/sys/block", stack.disk.name, "queue"), place) if stack else ABSENT


def _write_cache(queue: Path, place: Place = HERE) -> str:
    """What the kernel believes of the cache inside the device (queue-sysfs.rst)."""
    said = place.read(queue / "write_cache") or ABSENT
    return _CACHE.get(said, said)


def _discard(queue: Path) -> str:
    """Whether the device takes back what a file system frees."""
    largest = _text(queue / "discard_max_bytes")
    if largest in ("0", ABSENT):
        return "no"
    return f"in units of {_text(queue / 'discard_granularity')} B"


def _text(path: Path) -> str:
    """A small file, or that it is not available."""
    try:
        return path.read_text(errors="replace").strip() or ABSENT
    except OSError:
        return ABSENT
