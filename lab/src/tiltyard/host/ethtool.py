"""Properties of network devices in groups, as ethtool(8) shows and sets them."""

import re
from typing import Final, Literal

from tiltyard.errors import TiltyardError
from tiltyard.host.place import Place

Group = Literal["ring", "coalescing", "channels", "offloads"]

_SHOW: Final[dict[Group, str]] = {
    "ring": "-g", "coalescing": "-c", "channels": "-l", "offloads": "-k",
}  # fmt: skip
_SET: Final[dict[Group, str]] = {
    "ring": "-G", "coalescing": "-C", "channels": "-L", "offloads": "-K",
}  # fmt: skip
_NOW = "Current hardware settings:"
_ADAPTIVE = re.compile(r"Adaptive RX: (\S+)\s+TX: (\S+)")
_LINE = re.compile(r"^\s*([A-Za-z0-9 -]+):\s*(\S+)", re.MULTILINE)
_LOOK: Final = 'ethtool "$1" "$2" | tr A-Z a-z | sed -n "$3" | tail -n 1'
"""Of two lines of a property the first says how much it can be."""
_SHORT = {
    "rx-checksumming": "rx", "tx-checksumming": "tx", "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso", "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro", "large-receive-offload": "lro",
}  # fmt: skip


def read(place: Place, interface: str, group: Group) -> dict[str, str]:
    """What is in force, by the names that ethtool takes; empty where the device has no such group.

    What a device does not have (``n/a``) is left out.
    """
    return _parsed(_shown(place, interface, group).rpartition(_NOW)[2], group)


def most(place: Place, interface: str, group: Group) -> dict[str, str]:
    """The largest values that the device takes, of rings and channels."""
    return _parsed(_shown(place, interface, group).partition(_NOW)[0], group)


def command(interface: str, group: Group, key: str, value: str) -> tuple[str, ...]:
    """The command that sets one property."""
    return ("ethtool", _SET[group], interface, key, value)


def look(interface: str, group: Group, key: str) -> tuple[str, ...]:
    """The command that prints what is in force of one property."""
    full = {short: name for name, short in _SHORT.items()} if group == "offloads" else {}
    label = full.get(key, key)
    value = r":[[:blank:]]*\([^[:blank:]]*\).*/\1/p"
    if key.startswith("adaptive-"):
        before = "" if key == "adaptive-rx" else ".*tx"
        found = f"s/^adaptive rx{before}{value}"
    else:
        found = f"s/^[[:blank:]]*{label.replace('-', '[- ]')}{value}"
    return ("sh", "-c", _LOOK, "sh", _SHOW[group], interface, found)


def _shown(place: Place, interface: str, group: Group) -> str:
    """What ethtool prints."""
    try:
        return place.run(("ethtool", _SHOW[group], interface)).stdout
    except TiltyardError:
        return ""


def _parsed(text: str, group: Group) -> dict[str, str]:
    """Lines of ``name: value``."""
    found: dict[str, str] = {}
    if match := _ADAPTIVE.search(text):
        found |= {"adaptive-rx": match[1], "adaptive-tx": match[2]}
    for name, value in _LINE.findall(text):
        key = name.lower().replace(" ", "-") if group in ("ring", "channels") else name
        found.setdefault(key, value)
        if key in _SHORT:
            found[_SHORT[key]] = value
    return {key: value for key, value in found.items() if value != "n/a"}
