"""Controllers on the PCI bus: storage, network, display, and the chipset (lspci(8))."""

import re
from collections.abc import Iterator, Mapping

from tiltyard.frozen import read_json
from tiltyard.host.record.section import (
    ABSENT,
    Command,
    Section,
    Seen,
    because,
    fields,
    joined,
)

_BUS = "/sys/bus/pci/devices"
_LSPCI: Command = ("lspci", "-vmm")
_CLASSES: Mapping[str, str] = {
    "0x01": "storage",
    "0x02": "network",
    "0x03": "display",
    "0x0403": "audio",
    "0x0600": "host bridge",
}
"""PCI Code and ID Assignment Specification, class codes."""
_RAID = "0x0104"
_VOLUMES: tuple[Command, ...] = tuple(
    (program, "/call/vall", "show", "J") for program in ("storcli64", "perccli64")
)
_NO_LINK = "no controller says that it has one"
LINKS = "PCI Express links"
_LINKED = ("storage", "network")
_OF_LINKS = ("speed", "width")
_SLOT = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def _tell(seen: Seen) -> dict[str, str]:
    named = _names(seen.answer(_LSPCI))
    found: dict[str, list[str]] = {}
    for slot, what in _controllers(seen):
        numbers = f"{_number(seen, slot, 'vendor')}:{_number(seen, slot, 'device')}"
        found.setdefault(what, []).append(named.get(slot.removeprefix("0000:"), numbers))
    slots = [slot for slot, what in _controllers(seen) if what in _LINKED]
    return {
        **({what: ", ".join(names) for what, names in found.items()} or {"controllers": ABSENT}),
        LINKS: ", ".join(filter(None, (_link(seen, slot) for slot in slots))) or because(_NO_LINK),
        "volumes of RAID controllers": _volumes(seen),
    }


def _link(seen: Seen, slot: str) -> str:
    """What a device and its slot agreed on, what it could do, and what is narrower on the way.

    Empty for a device inside of a chip, or a virtual one.
    """
    now, most = _width(seen, slot, "current"), _width(seen, slot, "max")
    if now is None:
        return ""
    above = _SLOT.findall(seen.links.get(f"{_BUS}/{slot}", ""))[:-1]
    widths = {one: width for one in above if (width := _width(seen, one, "current")) is not None}
    narrowest = min(widths, key=lambda one: _rate(widths[one]), default=slot)
    told = f"{slot} {_worded(now)}"
    if most is not None and most != now:
        told += f" (could {_worded(most)})"
    if narrowest != slot and _rate(widths[narrowest]) < _rate(now):
        told += f" behind {narrowest} {_worded(widths[narrowest])}"
    return told


def _width(seen: Seen, slot: str, which: str) -> tuple[str, int] | None:
    """Speed and lanes of a link; a device inside of a chip says neither."""
    speed = seen.file(f"{_BUS}/{slot}/{which}_link_speed").removesuffix(" PCIe")
    lanes = seen.file(f"{_BUS}/{slot}/{which}_link_width")
    if "GT/s" not in speed or not lanes.isdigit() or int(lanes) == 0:
        return None
    return speed, int(lanes)


def _worded(width: tuple[str, int]) -> str:
    return f"{width[0]} x{width[1]}"


def _rate(width: tuple[str, int]) -> float:
    return float(width[0].split()[0]) * width[1]


def _volumes(seen: Seen) -> str:
    """What storcli(8), or perccli of Dell, says of their level, state and cache."""
    if not _has_raid(seen):
        return "none: there is no RAID controller"
    text = next(filter(None, (seen.answer(command) for command in _VOLUMES)), "")
    try:
        told = read_json(text or "{}").get("Controllers", [])
    except ValueError:
        told = []
    drives = [
        f"{one.get('DG/VD')} {one.get('TYPE')} {one.get('State')}, cache {one.get('Cache')}"
        for controller in told
        for one in controller.get("Response Data", {}).get("Virtual Drives", ())
    ]
    reason = "neither storcli64 nor perccli64 is installed and may ask it"
    return "; ".join(drives) or because(reason)


def _has_raid(seen: Seen) -> bool:
    return any(seen.file(f"{_BUS}/{s}/class").startswith(_RAID) for s in seen.names(_BUS))


def _controllers(seen: Seen) -> Iterator[tuple[str, str]]:
    """Slot and sort of those that matter."""
    for slot in seen.names(_BUS):
        code = seen.file(f"{_BUS}/{slot}/class")
        for prefix, what in _CLASSES.items():
            if code.startswith(prefix):
                yield slot, what


def _names(text: str) -> dict[str, str]:
    """Slot → vendor, device and revision, where lspci knows them."""
    told = (fields(block) for block in text.split("\n\n"))
    return {
        one["Slot"]: joined(
            one.get("SVendor", one.get("Vendor", ABSENT)),
            one.get("Device", ABSENT),
            f"rev {one['Rev']}" if "Rev" in one else ABSENT,
        )
        for one in told
        if "Slot" in one
    }


def _number(seen: Seen, slot: str, name: str) -> str:
    return seen.file(f"{_BUS}/{slot}/{name}").removeprefix("0x")


def _ask(seen: Seen) -> list[Command]:
    asked = [_LSPCI] if any(_controllers(seen)) else []
    return [*asked, *(_VOLUMES if _has_raid(seen) else ())]


SECTION = Section(
    name="controllers",
    tell=_tell,
    files=tuple(f"{_BUS}/*/{name}" for name in ("class", "vendor", "device"))
    + tuple(f"{_BUS}/*/{which}_link_{what}" for which in ("current", "max") for what in _OF_LINKS),
    links=(f"{_BUS}/*",),
    ask=_ask,
)
