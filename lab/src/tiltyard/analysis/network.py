"""What a sceptic would ask about a network: lost data, buffers not granted, where the ends are."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

import numpy as np

from tiltyard.analysis.ends import Seen, seen
from tiltyard.analysis.model import Notice
from tiltyard.analysis.quantity import GridCell, Measured
from tiltyard.plan.model import Plan
from tiltyard.units import format_size, format_value

LOSS: Final = "loss"
"""The metric that is the share of what was sent that did not arrive."""
LOST: Final = 0.001
"""From this share on a loss is told."""
BUFFERS: Final = {"send_buffer": "net.core.wmem_max", "receive_buffer": "net.core.rmem_max"}
"""Buffers of sockets, with the limit of what the kernel grants. It grants twice what is asked."""
APART: Final = "hosts"
"""The kind of system whose ends are different machines."""


def network_notices(measured: Sequence[Measured]) -> Iterator[Notice]:
    """Notices on the workloads that were measured over a network."""
    for one in measured:
        if one.network:
            ends = seen(one)
            yield from _lost(one, ends)
            yield from _not_granted(one, ends)


def between_hosts(plan: Plan) -> bool:
    """Whether the ends are different machines."""
    return all(system.kind == APART for system in plan.systems)


def ends_notice(plan: Plan) -> Notice:
    """How far the verdicts reach, given where the ends are."""
    if between_hosts(plan):
        return Notice(
            severity="note",
            text="Two machines and the path between them: the verdicts are about these hosts.",
            advice="Repeat the study on another pair before generalising.",
        )
    return Notice(
        severity="note",
        text="Both ends are on this host: no network card, cable or switch is in these figures, "
        "and the ends share its CPUs and memory.",
        advice="Repeat the study between two hosts before generalising.",
    )


def _lost(measured: Measured, ends: Sequence[Seen]) -> Iterator[Notice]:
    """What was sent and did not arrive, at its worst for each system."""
    cells = [cell for cell in measured.details if cell.metric.name == LOSS]
    told = [
        f"{system} up to {format_value(share, '1')}{where}"
        for column, system in enumerate(measured.systems)
        for share, where in [_worst(cells, column)]
        if share >= LOST
    ]
    if not told:
        return
    overflows = [one.side.counters.get("UdpRcvbufErrors", 0) for one in ends if one.end == "far"]
    full = ""
    if any(overflows):
        full = (
            " The receiving socket's buffer was full "
            f"{median(overflows):,.0f} times in the typical trial (UdpRcvbufErrors)."
        )
    yield Notice(
        severity="warning",
        text=f"{measured.workload.spec.name} lost data: {', '.join(told)}. The throughput that is "
        f"judged is what was received.{full}",
        advice="Nothing tells a sender of datagrams to slow down: pace it, or give the receiver a "
        "larger buffer, to see what the path carries without loss.",
    )


def _worst(cells: Sequence[GridCell], column: int) -> tuple[float, str]:
    """The largest median loss of a system, and where it was."""
    found = [
        (float(np.median(values)), f" ({cell.at_label})" if cell.at_label else "")
        for cell in cells
        if len(values := cell.values[np.isfinite(cell.values[:, column]), column])
    ]
    return max(found, default=(0.0, ""))


def _not_granted(measured: Measured, ends: Sequence[Seen]) -> Iterator[Notice]:
    """Buffers that the kernel made smaller than was asked for, at the last point of the grid."""
    for option, limit in BUFFERS.items():
        asked = measured.workload.effective.get(option)
        wanted = asked[-1] if isinstance(asked, list) and asked else None
        granted = {
            one.system: one.side.granted.get(option)
            for one in ends
            if (one.side.sends if option == "send_buffer" else one.side.receives)
        }
        capped = [
            f"{system} {format_size(size // 2)}"
            for system, size in granted.items()
            if isinstance(wanted, int) and isinstance(size, int) and size < 2 * wanted
        ]
        if isinstance(wanted, int) and capped:
            yield Notice(
                severity="warning",
                text=f"{measured.workload.spec.name} asked for a {option.replace('_', ' ')} of "
                f"{format_size(wanted)}; the kernel granted {', '.join(capped)}.",
                advice=f"Raise {limit}, or leave the buffer to the kernel.",
            )
