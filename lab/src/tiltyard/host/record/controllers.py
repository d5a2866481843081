"""Controllers on the PCI bus: storage, network, display, and the chipset (lspci(8))."""

from collections.abc import Iterator, Mapping

from tiltyard.host.record.section import ABSENT, Command, Section, Seen, Subject, fields, joined

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


def _tell(seen: Seen, subject: Subject) -> dict[str, str]:
    del subject
    named = _names(seen.answer(_LSPCI))
    found: dict[str, list[str]] = {}
    for slot, what in _controllers(seen):
        numbers = f"{_number(seen, slot, 'vendor')}:{_number(seen, slot, 'device')}"
        found.setdefault(what, []).append(named.get(slot.removeprefix("0000:"), numbers))
    return {what: ", ".join(names) for what, names in found.items()} or {"controllers": ABSENT}


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


def _ask(seen: Seen, subject: Subject) -> list[Command]:
    del subject
    return [_LSPCI] if any(_controllers(seen)) else []


SECTION = Section(
    name="controllers",
    tell=_tell,
    files=tuple(f"{_BUS}/*/{name}" for name in ("class", "vendor", "device")),
    links=(f"{_BUS}/*",),
    ask=_ask,
)
