"""The block devices of this host: what is on them, and which could be handed to a study."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.errors import TiltyardError
from tiltyard.frozen import Frozen
from tiltyard.host.devices.block_devices import BlockDevice, is_identity
from tiltyard.host.devices.held import Wanted, refusal
from tiltyard.phases import phase
from tiltyard.study.toml import toml_value

_BLOCK: Final = Path("/sys/block")
_STABLE: Final = (Path("/dev/disk/by-id"), Path("/dev/disk/by-partuuid"))
_REFUSED: Final = "refused, nothing was written: "


class Disk(Frozen):
    """A disk, a partition, a logical volume or a loop device."""

    name: str
    """By which a study should name it: one that stays, where there is one."""
    node: str
    """The kernel's own name."""
    size_bytes: int
    model: str
    """With its serial number; empty: not known."""
    usable: bool
    reason: str
    """Why it is not used; empty: it could be."""
    toml: str
    """What a study says to use it; empty where it cannot be."""


class Devices(Frozen):
    """All that have a size."""

    devices: tuple[Disk, ...]


def devices() -> Devices:
    """Look at every device; nothing is changed."""
    return Devices(devices=tuple(_found()))


def _found() -> Iterator[Disk]:
    names = _stable_names()
    for disk in sorted(_BLOCK.iterdir()):
        entry = disk.resolve()
        for part in (entry, *sorted(mark.parent for mark in entry.glob("*/partition"))):
            node = Path("/dev", part.name.replace("!", "/"))
            try:
                device = BlockDevice.at(names.get(node, node))
            except TiltyardError:
                continue  # it has gone meanwhile, or has no node here
            if device.size_bytes:
                with phase(f"looking at {node}"):
                    yield _judged(device)


def _judged(device: BlockDevice) -> Disk:
    """Whether a study could have it now."""
    first = dict([*device.marks.items()][:1])
    wanted = Wanted(given=device.given, size_bytes=device.size_bytes, marks=first)
    try:
        error = refusal(wanted.held())
    except TiltyardError as failure:
        reason = str(failure)
    else:
        reason = str(error).rpartition(_REFUSED)[2] if error else ""
    if not reason and not first and not is_identity(device.given):
        reason = "it has neither a serial number nor another mark, so a study cannot name it"
    serial = f"serial {device.serial}" if device.serial else ""
    behind = f"over {device.backing_file}" if device.backing_file else ""
    return Disk(
        name=str(device.given),
        node=device.node,
        size_bytes=device.size_bytes,
        model=", ".join(filter(None, (device.model, serial, behind))),
        usable=not reason,
        reason=reason,
        toml="" if reason else _toml(device, first),
    )


def _toml(device: BlockDevice, marks: dict[str, str]) -> str:
    """The table of a study."""
    confirm = toml_value({"size": device.size_bytes, **marks})
    return f"[systems]\ndevice  = {toml_value(str(device.given))}\nconfirm = {confirm}"


def _stable_names() -> dict[Path, Path]:
    """Node → the name that stays; of several the one that tells a person most."""
    found: dict[Path, Path] = {}
    for folder in _STABLE:
        if folder.is_dir():
            # Names by make and serial number say more than those by number alone.
            for link in sorted(
                folder.iterdir(), key=lambda link: (link.name.startswith("wwn"), link)
            ):
                found.setdefault(link.resolve(), link)
    return found
