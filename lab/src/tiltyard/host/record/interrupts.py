"""Interrupts: on which CPUs each device may be served, and where that happens now."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from tiltyard.host.record.section import ABSENT, Section, Seen

_TABLE: Final = "/proc/interrupts"
_IRQ: Final = "/proc/irq"
_NOW: Final = "served now by"
_MOVED: Final = "moved by"
_NEW: Final = "CPUs of new ones, a mask"
_IRQBALANCE: Final = ("/run/irqbalance", "/run/irqbalance.pid")
"""Where irqbalance(1) can be asked; it moves interrupts every ten seconds."""
_QUEUE: Final = re.compile(r"(?<=\D)\d+(?=@)|[-._q]\d+$")
"""What tells the queues of one device apart: ``nvme0q3``, ``eth0-TxRx-7``, ``mlx5_comp3@pci:…``."""


def _tell(seen: Seen) -> dict[str, str]:
    devices: dict[str, list[str]] = {}
    served: Counter[str] = Counter()
    for number, device in _numbered(seen):
        may = seen.file(f"{_IRQ}/{number}/smp_affinity_list")
        if may != ABSENT:
            devices.setdefault(device, []).append(may)
            served[seen.file(f"{_IRQ}/{number}/effective_affinity_list")] += 1
    now = (f"CPUs {cpus}: {count}" for cpus, count in sorted(served.items()) if cpus != ABSENT)
    return {
        _NEW: seen.file(f"{_IRQ}/default_smp_affinity"),
        _NOW: ", ".join(now) or ABSENT,
        _MOVED: "irqbalance" if any(path in seen.links for path in _IRQBALANCE) else "nobody",
        **{name: _placed(lists) for name, lists in devices.items()},
    }


def _numbered(seen: Seen) -> list[tuple[str, str]]:
    """Number and device of each interrupt that has a number, in order."""
    found = []
    for line in seen.files.get(_TABLE, "").splitlines()[1:]:
        number, _, rest = line.strip().partition(":")
        if number.isdigit() and rest.split():
            found.append((number, _QUEUE.sub("", rest.split()[-1])))
    return found


def _moved(facts: Mapping[str, str]) -> frozenset[str]:
    """What irqbalance moves about, where it runs."""
    return frozenset(facts) - {_MOVED, _NEW} if facts.get(_MOVED) == "irqbalance" else frozenset()


def _placed(lists: list[str]) -> str:
    """Of all queues of a device, in order."""
    if len(set(lists)) == 1:
        return f"{len(lists)} on CPUs {lists[0]}"
    return f"{len(lists)} on CPUs {' | '.join(lists)}"


SECTION = Section(
    name="interrupts",
    tell=_tell,
    files=(
        _TABLE,
        f"{_IRQ}/default_smp_affinity",
        f"{_IRQ}/*/smp_affinity_list",
        f"{_IRQ}/*/effective_affinity_list",
    ),
    links=_IRQBALANCE,
    volatile=frozenset({_NOW}),
    unsettled=_moved,
)
