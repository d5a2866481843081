"""The disks of the host, each with its queue; and which of them the study folder lies on."""

import re
from typing import Final

from tiltyard.frozen import read_json
from tiltyard.host.devices.disks import SECTOR_BYTES
from tiltyard.host.record import stack
from tiltyard.host.record.section import (
    ABSENT,
    Command,
    Section,
    Seen,
    because,
    either,
)
from tiltyard.units import format_size

_CLASS = "/sys/class/block"
WORKED_ON: Final = "study folder is on it"
_NOT_DISKS = ("loop", "ram", "dm-", "md", "nbd")
_TRANSPORTS = (
    (r"/nvme", "NVMe"),
    (r"/virtio", "virtio"),
    (r"/usb", "USB"),
    (r"/ata\d", "SATA"),
    (r"/rport-", "Fibre Channel"),
    (r"/session\d", "iSCSI"),
    (r"/end_device-", "SAS"),
    (r"/vbd-", "Xen"),
    (r"/mmc", "MMC"),
    (r"/host\d+/target", "SCSI"),
)
"""What the path of a device in ``/sys`` says of how it is reached; the first that fits."""

_QUEUE = {
    "logical block": "queue/logical_block_size",
    "physical block": "queue/physical_block_size",
    "best size of a request": "queue/optimal_io_size",
}
_DEVICE = {
    "model": ("device/model",),
    "vendor": ("device/vendor",),
    "serial number": ("serial", "device/serial"),
    "firmware": ("device/firmware_rev", "device/rev"),
}

_BUFFER: Final = re.compile(r"cache/buffer size\s*=\s*(\d+ \w+)")
_CACHE: Final = re.compile(r"^\s+(\*?)\s*Write cache$", re.MULTILINE)
"""Of ``hdparm -I``: a star stands before what is on."""
_FEATURE: Final = re.compile(r"Current value:\s*([0-9a-fA-Fx]+)")
_HDPARM: Final = "hdparm is not installed, or only root may ask it"
_SDPARM: Final = "sdparm is not installed, or only root may ask it"
_NVME: Final = "nvme is not installed, may not ask, or the drive has none"
_WCE: Final = re.compile(r"^WCE\s+(\d)", re.MULTILINE)


def _tell(seen: Seen) -> dict[str, str]:
    mount = stack.mount_seen(seen, seen.subject.directory)
    device = stack.device_of(seen, mount) if mount else None
    worked_on = stack.disks_under(seen, device) if device else []
    found = {
        f"{name}: {fact}": value
        for name in _names(seen)
        for fact, value in _disk(seen, name, name in worked_on).items()
    }
    return found or {"disks": ABSENT}


def _names(seen: Seen) -> list[str]:
    """Whole disks that have a size."""
    return [
        name
        for name in seen.names(_CLASS)
        if not name.startswith(_NOT_DISKS)
        and f"{_CLASS}/{name}/partition" not in seen.files
        and seen.file(f"{_CLASS}/{name}/size") not in ("0", ABSENT)
    ]


def _disk(seen: Seen, name: str, worked_on: bool) -> dict[str, str]:
    at = f"{_CLASS}/{name}"
    queue = f"{at}/queue"
    smart = _smart(seen, name)
    return {
        "size": format_size(int(seen.file(f"{at}/size")) * SECTOR_BYTES),
        **{fact: either(*(seen.file(f"{at}/{p}") for p in ps)) for fact, ps in _DEVICE.items()},
        "reached by": _transport(seen.links.get(at, "")),
        **{fact: _bytes(seen.file(f"{at}/{path}")) for fact, path in _QUEUE.items()},
        "rotates, as the kernel says": _yes(seen.file(f"{queue}/rotational")),
        "speed of rotation": smart.get("rotation_rate", ABSENT),
        "scheduler": seen.chosen(f"{queue}/scheduler"),
        "requests in its queue": seen.file(f"{queue}/nr_requests"),
        "largest request": _kib(seen.file(f"{queue}/max_sectors_kb")),
        "read-ahead": _kib(seen.file(f"{queue}/read_ahead_kb")),
        "merges of requests": {"0": "all", "1": "simple", "2": "none"}.get(
            seen.file(f"{queue}/nomerges"), ABSENT
        ),
        "write cache": seen.file(f"{queue}/write_cache"),
        **_drive(seen, name),
        "forced unit access": _yes(seen.file(f"{queue}/fua")),
        "polled": _yes(seen.file(f"{queue}/io_poll")),
        WORKED_ON: "yes" if worked_on else "no",
    }


def _transport(path: str) -> str:
    return next((name for pattern, name in _TRANSPORTS if re.search(pattern, path)), ABSENT)


def _drive(seen: Seen, name: str) -> dict[str, str]:
    """Buffer of a drive, and whether it may keep there what it was told to write."""
    reach = _transport(seen.links.get(f"{_CLASS}/{name}", ""))
    if reach == "SATA":
        told, why = seen.answer(_hdparm(name)), because(_HDPARM)
        buffer, cache = _BUFFER.search(told), _CACHE.search(told)
        on = ("on" if cache[1] else "off") if cache else why
        return {"buffer": buffer[1] if buffer else why, "write cache of the drive": on}
    if reach == "NVMe":
        value, why = _FEATURE.search(seen.answer(_nvme(name))), _NVME
    elif reach in ("SAS", "SCSI"):
        value, why = _WCE.search(seen.answer(_sdparm(name))), _SDPARM
    else:
        value, why = None, "what is below a virtual disk does not tell"
    told = {"1": "on", "0": "off"}.get(value[1][-1], "") if value else ""
    return {"write cache of the drive": told or because(why)}


def _hdparm(name: str) -> Command:
    return ("hdparm", "-I", f"/dev/{name}")


def _nvme(name: str) -> Command:
    return ("nvme", "get-feature", "--feature-id=6", f"/dev/{name}")


def _sdparm(name: str) -> Command:
    return ("sdparm", "--get=WCE", f"/dev/{name}")


def _smart_command(name: str) -> Command:
    return ("smartctl", "--info", "--json", "--nocheck=standby", f"/dev/{name}")


def _smart(seen: Seen, name: str) -> dict[str, str]:
    """What smartctl(8) adds: revolutions a minute."""
    try:
        told = read_json(seen.answer(_smart_command(name)) or "{}")
    except ValueError:
        return {}
    rate = told.get("rotation_rate")
    if rate is None:
        return {}
    return {"rotation_rate": f"{rate}/min" if rate else "does not rotate"}


def _ask(seen: Seen) -> list[Command]:
    """Disks behind a controller; virtual ones know nothing of the kind."""
    asks = {
        "SATA": (_smart_command, _hdparm),
        "SAS": (_smart_command, _sdparm),
        "SCSI": (_smart_command, _sdparm),
        "NVMe": (_smart_command, _nvme),
    }
    return [
        ask(name)
        for name in _names(seen)
        for ask in asks.get(_transport(seen.links.get(f"{_CLASS}/{name}", "")), ())
    ]


def _bytes(text: str) -> str:
    return format_size(int(text)) if text.isdigit() and int(text) else ABSENT


def _kib(text: str) -> str:
    return format_size(int(text) * 1024) if text.isdigit() else ABSENT


def _yes(text: str) -> str:
    return {"0": "no", "1": "yes"}.get(text, ABSENT)


SECTION = Section(
    name="disks",
    tell=_tell,
    files=(
        *stack.FILES,
        f"{_CLASS}/*/size",
        *(f"{_CLASS}/*/{path}" for paths in _DEVICE.values() for path in paths),
        *(f"{_CLASS}/*/{path}" for path in _QUEUE.values()),
        *(
            f"{_CLASS}/*/queue/{name}"
            for name in (
                "rotational", "scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb",
                "nomerges", "write_cache", "fua", "io_poll",
            )
        ),
    ),
    links=stack.LINKS,
    ask=_ask,
)  # fmt: skip
