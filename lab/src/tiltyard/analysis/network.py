"""What the two ends of a network saw, and what that limits: lost data, small buffers."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal, TypeAlias

import numpy as np

from tiltyard.analysis.model import Notice
from tiltyard.analysis.quantity import GridCell, Measured
from tiltyard.plan.model import Plan
from tiltyard.units import format_size, format_value, reading_unit
from tiltyard.wire import Connection, Side

End: TypeAlias = Literal["near", "far"]
Ends: TypeAlias = dict[str, dict[str, dict[str, str]]]
"""End → fact → system → text."""

ENDS: Final[tuple[End, ...]] = ("near", "far")
TROUBLE: Final = re.compile("Err|Drop|Retrans|Loss|Lost|Fail|Discard|Timeout|Overflow|Prune|OFO")
"""Counters of the kernel that tell of trouble; the others only count traffic."""


@dataclass(frozen=True)
class Seen:
    """What one end saw of one trial."""

    system: str
    end: End
    side: Side
    connections: tuple[Connection, ...]
    """TCP_INFO at this end, instant by instant."""


def seen(measured: Measured) -> list[Seen]:
    """Both ends of every done trial of a workload; nothing where there is no network."""
    return [
        Seen(
            system=trial.key.system,
            end=end,
            side=trial.end.network.near if end == "near" else trial.end.network.far,
            connections=tuple(one for one in trial.connections if one.end == end),
        )
        for trial in measured.done
        if trial.end and trial.end.network
        for end in ENDS
    ]


def what_ends_saw(measured: Measured) -> Ends:
    """Medians over blocks, each trial taken as a whole; empty for a workload without a network."""
    found: Ends = {}
    everything = seen(measured)
    for end, system in dict.fromkeys((one.end, one.system) for one in everything):
        own = [one for one in everything if (one.end, one.system) == (end, system)]
        facts = found.setdefault(end, {})
        for fact, text in (*_amounts(own), *_connections(own), *_granted(own)):
            facts.setdefault(fact, {})[system] = text
    return found


def _amounts(own: Sequence[Seen]) -> Iterator[tuple[str, str]]:
    """CPU time, bytes with the calls that moved them, and counters of the kernel."""

    def typical(read: Callable[[Side], float]) -> float:
        return median(read(one.side) for one in own)

    yield "CPUs", f"{typical(lambda side: side.cpus):.0f}"
    yield "CPUs busy", format_value(typical(lambda side: side.busy), "1")
    if sends := typical(lambda side: side.sends):
        yield "sent", f"{_size(typical(lambda side: side.sent_bytes))} in {sends:,.0f} calls"
    if receives := typical(lambda side: side.receives):
        amount = _size(typical(lambda side: side.received_bytes))
        yield "received", f"{amount} in {receives:,.0f} calls"
    troubles = {name for one in own for name in one.side.counters if TROUBLE.search(name)}
    for name in sorted(troubles):
        if count := median(one.side.counters.get(name, 0) for one in own):
            yield name, f"{count:,.0f}"


def _connections(own: Sequence[Seen]) -> Iterator[tuple[str, str]]:
    """TCP_INFO where data are sent: the median over the instants of a trial, then over trials."""
    own = [one for one in own if one.side.sends]

    def typical(read: Callable[[Connection], float | None]) -> float | None:
        series = [
            [value for one in seen.connections if (value := read(one)) is not None] for seen in own
        ]
        return median(median(values) for values in series if values) if any(series) else None

    if (rtt_s := typical(lambda one: one.rtt_s)) is not None:
        yield "round-trip time", format_value(rtt_s, reading_unit("s", network=True))
    if (segments := typical(lambda one: one.cwnd_segments)) is not None:
        yield "congestion window", f"{segments:,.0f} segments"
    if (rate := typical(lambda one: one.delivery_rate)) is not None:
        yield "delivery rate", format_value(rate, reading_unit("B/s", network=True))


def _granted(own: Sequence[Seen]) -> Iterator[tuple[str, str]]:
    """Options as granted: the buffers that were in use, then all others together."""
    for option, moved in (("send_buffer", "sends"), ("receive_buffer", "receives")):
        sizes = [
            size
            for one in own
            if getattr(one.side, moved) and isinstance(size := one.side.granted.get(option), int)
        ]
        if sizes:
            ends = dict.fromkeys((format_size(min(sizes)), format_size(max(sizes))))
            yield option.replace("_", " "), " to ".join(ends)
    others = dict.fromkeys(option for one in own for option in one.side.granted)
    texts = [_option(own, option) for option in others if not option.endswith("_buffer")]
    if texts:
        yield "options granted", ", ".join(texts)


def _option(own: Sequence[Seen], option: str) -> str:
    """``nodelay off``; everything that was granted where that differs between blocks."""
    granted = [one.side.granted for one in own if option in one.side.granted]
    texts = dict.fromkeys(_text(options[option]) for options in granted)
    return f"{option.replace('_', ' ')} {' or '.join(sorted(texts))}"


def _text(value: object) -> str:
    """An option's value as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _size(size_bytes: float) -> str:
    return format_size(round(size_bytes))


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
        text=f"{measured.workload.display} lost data: {', '.join(told)}. The throughput that is "
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
                text=f"{measured.workload.display} asked for a {option.replace('_', ' ')} of "
                f"{format_size(wanted)}; the kernel granted {', '.join(capped)}.",
                advice=f"Raise {limit}, or leave the buffer to the kernel.",
            )
