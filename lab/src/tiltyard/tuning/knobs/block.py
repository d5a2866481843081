"""Table ``[block]``: the queue of each block device that a system lies on."""

from collections.abc import Callable, Iterator
from functools import partial

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host.place import Place
from tiltyard.tuning import defaults
from tiltyard.tuning.files import FileSetting, unknown_default
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, Scene, Setting
from tiltyard.tuning.values import Alternatives, Amount, Value

_TOP = "device"
"""What a system lies on is called in a report."""
_DEFAULTS: dict[str, Callable[[Place, str], str]] = {
    "scheduler": defaults.scheduler,
    "read_ahead_kb": defaults.read_ahead_kb,
}


class BlockTable(KnobTable):
    """ABI/stable/sysfs-block of the kernel."""

    scheduler: Alternatives | None = Field(
        None, description='I/O scheduler; of several the first that there is: ["mq-deadline", …].'
    )
    read_ahead_kb: Value | None = Field(None, description="Read-ahead, in KiB.")
    nr_requests: Value | None = Field(None, description="Requests that a queue holds.")
    rq_affinity: Value | None = Field(
        None, description="Where a request is completed: 0 anywhere, 1 near, 2 where it was made."
    )
    nomerges: Value | None = Field(
        None, description="Merging of requests: 0 all, 1 the cheap ones, 2 none."
    )
    add_random: Value | None = Field(None, description="1: feeds the random numbers.")
    max_sectors_kb: Value | None = Field(None, description="Largest request, in KiB.")
    wbt_lat_usec: Value | None = Field(
        None, description="Latency that writeback is throttled for, in µs; 0: it is not."
    )
    write_cache: Value | None = Field(
        None, description='What the kernel believes of the device: "write back", "write through".'
    )
    beneath: bool = Field(
        False, description="Also for the disks beneath: under an image, under a mapped device."
    )


def _settings(table: BlockTable, scene: Scene) -> Iterator[Setting]:
    keys = [key for key in BlockTable.model_fields if key != "beneath"]
    wanted = {key: value for key in keys if (value := getattr(table, key)) is not None}
    # Which loop device it is changes from turn to turn; the disk beneath is always the same one.
    names = {_name(scene.place, device): _TOP for device in scene.devices}
    if table.beneath:
        lower = [each for name in names for each in _beneath(scene.place, name)]
        names = {**{name: name for name in lower}, **names}
    if not names:
        yield from (Absent(f"{_TOP} {key}", "the system lies on no block device") for key in wanted)
    for name, told in names.items():
        queue = f"/sys/block/{name}/queue"
        for key, value in wanted.items():
            choices = (value,) if isinstance(value, Amount) else tuple(value)
            compute = _DEFAULTS.get(key)
            default = partial(compute, scene.place, queue) if compute else unknown_default
            yield FileSetting(
                f"{told} {key}", scene.place, f"{queue}/{key}", choices, default=default
            )


def _name(place: Place, device: str) -> str:
    """The name of the whole disk in ``/sys/block``."""
    node = device.rpartition("/")[2]
    link = f"/sys/class/block/{node}"
    partition = f"{link}/partition"
    with place.looking(files=[partition], links=[device, link]):
        found = place.find_all([device, link])
        is_partition = place.read(partition) is not None
    real, entry = found.get(device, device), found.get(link, link)
    if real.rpartition("/")[2] != node:
        return _name(place, real)
    return (entry.rpartition("/")[0] if is_partition else entry).rpartition("/")[2]


def _beneath(place: Place, name: str) -> Iterator[str]:
    """Disks under an image's loop device, or under one that is mapped or assembled."""
    image = place.read(f"/sys/block/{name}/loop/backing_file")
    if image:
        try:
            source = place.run(("findmnt", "-no", "SOURCE", "-T", image)).stdout
        except TiltyardError:
            return
        lower = [_name(place, source)] if source.startswith("/dev/") else []
    else:
        slaves = place.find(f"/sys/block/{name}/slaves/*")
        lower = [_name(place, f"/dev/{slave.rpartition('/')[2]}") for slave in slaves]
    for each in lower:
        yield each
        yield from _beneath(place, each)


KNOB = Knob(
    name="block",
    about="the queue of each block device that a system lies on",
    Table=BlockTable,
    of="devices",
    settings=_settings,
)
