"""What a block device says of itself, for the system record."""

from pathlib import Path

from tiltyard.host.devices.block_devices import BlockDevice
from tiltyard.host.devices.disks import disk_of, stack_under
from tiltyard.host.facts import ABSENT
from tiltyard.host.place import HERE, Place
from tiltyard.units import format_size

_OF_QUEUE = (
    "logical_block_size",
    "physical_block_size",
    "rotational",
    "discard_max_bytes",
    "discard_granularity",
)
_CACHE = {
    "write back": "write back: a write is answered before it is durable, until it is flushed",
    "write through": "write through: none, or one that survives a loss of power, or so it says",
}


def device_facts(device: BlockDevice, place: Place = HERE) -> dict[str, str]:
    """Its identity and its make, in names that a reader knows."""
    name = device.node.removeprefix("/dev/").replace("/", "!")
    disk = disk_of(device.node, place)
    queue = Path("/sys/block", disk.name if disk else name, "queue")
    below = ", ".join(Path(each).name for each in place.find(f"/sys/class/block/{name}/slaves/*"))
    told = place.read_all([queue / each for each in _OF_QUEUE])
    logical, physical, rotational, discarded, unit = (
        told.get(str(queue / each)) or ABSENT for each in _OF_QUEUE
    )
    return {
        "device": str(device.given),
        "device node": device.node,
        "device size": f"{format_size(device.size_bytes)} ({device.size_bytes} bytes)",
        "device model": device.model or ABSENT,
        "device serial": device.serial or ABSENT,
        "device firmware": device.firmware or ABSENT,
        **({"image behind it": str(device.backing_file)} if device.backing_file else {}),
        "device blocks": f"logical {logical} B, physical {physical} B",
        "write cache of the device": _write_cache(queue, place),
        "rotational flag": f"{rotational}, as the kernel says; virtual disks lie",
        "discard": "no" if discarded in ("0", ABSENT) else f"in units of {unit} B",
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
