"""Network devices: drivers, queues, and what the card does for the kernel (ethtool(8)).

Addresses are not recorded.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from tiltyard.host.record.section import ABSENT, Command, Section, Seen, fields, joined

_CLASS = "/sys/class/net"
_MOST: Final = 8
"""Devices that ethtool is asked about."""
_QUESTIONS: Mapping[str, str] = {
    "driver": "-i",
    "offloads": "-k",
    "rings": "-g",
    "channels": "-l",
    "coalescing": "-c",
    "spread": "-x",
}
_NOW = "Current hardware settings:"
_COALESCING = ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames")


def _tell(seen: Seen) -> dict[str, str]:
    found = {
        f"{name}: {fact}": value
        for name in _names(seen)
        for fact, value in _device(seen, name).items()
    }
    return found or {"devices": ABSENT}


def _names(seen: Seen) -> list[str]:
    """Cards, and virtual devices that are up; not the loopback."""
    return [
        name
        for name in seen.names(_CLASS)
        if name != "lo"
        and (
            f"{_CLASS}/{name}/device" in seen.links
            or seen.file(f"{_CLASS}/{name}/operstate") == "up"
        )
    ][:_MOST]


def _device(seen: Seen, name: str) -> dict[str, str]:
    at = f"{_CLASS}/{name}"
    told = {what: seen.answer(_ethtool(option, name)) for what, option in _QUESTIONS.items()}
    driver = fields(told["driver"])
    return {
        "driver": joined(driver.get("driver", ABSENT), driver.get("version", ABSENT)),
        "firmware": driver.get("firmware-version") or ABSENT,
        "state": seen.file(f"{at}/operstate"),
        "speed": _speed(seen.file(f"{at}/speed")),
        "duplex": seen.file(f"{at}/duplex").replace("unknown", ABSENT),
        "MTU": seen.file(f"{at}/mtu"),
        "transmit queue": seen.file(f"{at}/tx_queue_len"),
        "ring sizes": _current(told["rings"], "RX", "TX"),
        "queues": _current(told["channels"], "RX", "TX", "Combined"),
        "offloads that are on": _offloads(told["offloads"]),
        "interrupt coalescing": _coalescing(told["coalescing"]),
        "queues by flow (RSS)": _spread(told["spread"]),
        "CPUs that take packets (RPS)": _masks(seen, f"{at}/queues/rx-", "/rps_cpus"),
        "CPUs that send (XPS)": _masks(seen, f"{at}/queues/tx-", "/xps_cpus"),
        "node": seen.file(f"{at}/device/numa_node").replace("-1", ABSENT),
    }


def _ethtool(option: str, name: str) -> Command:
    return ("ethtool", option, name)


def _ask(seen: Seen) -> list[Command]:
    return [_ethtool(option, name) for name in _names(seen) for option in _QUESTIONS.values()]


def _speed(text: str) -> str:
    """The kernel says -1 where there is no link, or no speed."""
    return f"{text} Mbit/s" if text.isdigit() else ABSENT


def _current(text: str, *names: str) -> str:
    """What is set now, below the maxima."""
    told = fields(text.partition(_NOW)[2])
    values = ((name, told.get(name, "n/a")) for name in names)
    return joined(*(f"{name} {value}" for name, value in values if value != "n/a"), between=", ")


def _offloads(text: str) -> str:
    """Long names; those below a heading are its parts."""
    lines = [line for line in text.splitlines()[1:] if not line.startswith("\t")]
    return joined(*(line.partition(":")[0] for line in lines if ": on" in line))


def _coalescing(text: str) -> str:
    told = fields(text)
    values = ((name, told.get(name, "n/a")) for name in _COALESCING)
    return joined(*(f"{name} {value}" for name, value in values if value != "n/a"), between=", ")


def _spread(text: str) -> str:
    """How many entries of the indirection table lead to each queue."""
    rows = (line.partition(":") for line in text.partition("RSS hash key")[0].splitlines()[1:])
    queues = Counter(
        int(word) for at, _, row in rows if at.strip().isdigit() for word in row.split()
    )
    return ", ".join(f"{queue}: {count}" for queue, count in sorted(queues.items())) or ABSENT


def _masks(seen: Seen, before: str, after: str) -> str:
    """Queue by queue, as the kernel prints them; without one, the kernel chooses."""
    masks = {
        path.removeprefix(before).removesuffix(after): text
        for path, text in seen.files.items()
        if path.startswith(before) and path.endswith(after)
    }
    if not masks:
        return ABSENT
    told = (f"queue {queue}: {mask}" for queue, mask in masks.items() if mask.strip("0,"))
    return ", ".join(told) or "not set"


SECTION = Section(
    name="network",
    tell=_tell,
    files=tuple(
        f"{_CLASS}/*/{name}"
        for name in (
            *("operstate", "speed", "duplex", "mtu", "tx_queue_len", "device/numa_node"),
            *("queues/rx-*/rps_cpus", "queues/tx-*/xps_cpus"),
        )
    ),
    links=(f"{_CLASS}/*", f"{_CLASS}/*/device"),
    ask=_ask,
)
