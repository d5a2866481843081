"""What one job did: reads, writes, trims and syncs, of all its threads together."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from tiltyard.importers.fio.report import KIB, bytes_moved
from tiltyard.importers.importer import Measured
from tiltyard.importers.json_file import Node
from tiltyard.importers.quantities import (
    BYTES_S,
    MICROSECONDS,
    NANOSECONDS,
    PER_S,
    SECONDS,
    Unit,
    metric,
    percentile_name,
)
from tiltyard.importers.reading import number, shown

_DIRECTIONS: Final = ("read", "write", "trim", "mixed")
"""``mixed`` is all of them together (``--unified_rw_reporting``)."""
_LATENCIES: Final = (
    ("clat_ns", NANOSECONDS, "completion_latency"),
    ("lat_ns", NANOSECONDS, "latency"),
    ("clat", MICROSECONDS, "completion_latency"),
    ("lat", MICROSECONDS, "latency"),
)
"""Keys in the order in which they are looked for: fio 3 has ns, fio 2 had µs."""
METRICS: Final = (
    *(metric(way, BYTES_S, None) for way in _DIRECTIONS),
    *(
        metric(f"{way}_operations", PER_S, None, headline=False, label=f"{way} operations")
        for way in _DIRECTIONS
    ),
    *(
        metric(f"{way}_{kind}", SECONDS, None, headline=False)
        for kind in ("completion_latency", "latency")
        for way in (*_DIRECTIONS, "sync")
    ),
)


def measured(threads: Sequence[Node], limits: list[str]) -> Iterator[Measured]:
    """What the threads of one job did together; nothing of what they did not do."""
    for way in (*_DIRECTIONS, "sync"):
        active = [own for thread in threads if (own := thread.get(way)) and _operations(own) > 0]
        if not active:
            continue
        if way != "sync":
            yield Measured(way, values=(float(_throughput(active)),))
            yield Measured(f"{way}_operations", values=(float(_rate(active)),))
        seen: set[str] = set()
        for key, unit, kind in _LATENCIES:
            known = [(own, one) for one in active if (own := one.get(key)) and _timed(own)]
            if known and kind not in seen:
                seen.add(kind)
                timed, ways = zip(*known, strict=True)
                yield _latency(f"{way}_{kind}", timed, ways, unit, limits)


def _operations(way: Node) -> Fraction:
    """How many; fio 2 does not say, so its bytes do.

    Engines without I/O, such as cpuio, count operations of no bytes: these are none.
    """
    moved = way.get("io_bytes")
    found = moved if moved and not moved.value() else way.get("total_ios") or moved
    return found.value() if found else Fraction(0)


def _throughput(active: Sequence[Node]) -> Fraction:
    """In B/s: as stated of one thread; of several, all bytes over the longest runtime.

    Versions before 3.2 state KiB/s only.
    """
    if len(active) == 1:
        exact = active[0].get("bw_bytes")
        return exact.value() if exact else active[0]["bw"].value() * KIB
    return _total(active, bytes_moved)


def _rate(active: Sequence[Node]) -> Fraction:
    """Operations per second, in the same way."""
    if len(active) == 1:
        return active[0]["iops"].value()
    return _total(active, lambda one: one["total_ios"].value())


def _total(active: Sequence[Node], amount: Callable[[Node], Fraction]) -> Fraction:
    """A sum over threads, per second of the longest runtime."""
    longest_ms = max(one["runtime"].value() for one in active)
    if not longest_ms:
        raise active[0]["runtime"].refused("no runtime, so the threads cannot be added up")
    return sum(map(amount, active), Fraction(0)) * 1000 / longest_ms


def _timed(latency: Node) -> bool:
    """Whether anything was timed: of nothing fio writes a mean of 0."""
    count = latency.get("N")
    return (count or latency["mean"]).value() > 0


def _latency(
    name: str, timed: Sequence[Node], ways: Sequence[Node], unit: Unit, limits: list[str]
) -> Measured:
    """The mean over operations, with the percentiles that are known.

    fio 2 does not say how many were timed: they are all of a thread's operations.
    """
    if len(timed) == 1:
        mean = timed[0]["mean"].value()
    else:
        counts = [
            (one.get("N") or way["total_ios"]).value() for one, way in zip(timed, ways, strict=True)
        ]
        means = [one["mean"].value() for one in timed]
        total = sum((n * own for n, own in zip(counts, means, strict=True)), Fraction(0))
        mean = total / sum(counts)
    percentiles = _percentiles(timed)
    if percentiles is None:
        limits.append(
            "Percentiles of several threads cannot be joined and were left out; "
            "--group_reporting or --output-format=json+ keeps them."
        )
    known = {key: unit.value(value) for key, value in (percentiles or {}).items()}
    return Measured(name, values=(unit.value(mean),), percentiles=known)


def _percentiles(timed: Sequence[Node]) -> dict[str, Fraction] | None:
    """Of one thread as stated, of several from their histograms; ``None`` if they are not kept."""
    stated = [own for one in timed if (own := one.get("percentile"))]
    wanted = {key: (_number(node, key), node) for own in stated[:1] for key, node in own.items()}
    if len(timed) == 1 or not stated:
        return {percentile_name(share): node.value() for share, node in wanted.values()}
    bins: dict[Fraction, Fraction] = {}
    for one in timed:
        own = one.get("bins")
        if own is None:
            return None
        for key, count in own.items():
            value = _number(count, key)
            bins[value] = bins.get(value, Fraction(0)) + count.value()
    return {percentile_name(share): _rank(bins, share) for share, _ in wanted.values()}


def _rank(bins: dict[Fraction, Fraction], percent: Fraction) -> Fraction:
    """The first bin that reaches a share of all, as fio finds it."""
    wanted = sum(bins.values()) * percent / 100
    reached = Fraction(0)
    for value in sorted(bins):
        reached += bins[value]
        if reached >= wanted:
            return value
    return max(bins, default=Fraction(0))


def _number(node: Node, key: str) -> Fraction:
    """A key that is a number."""
    try:
        return number(key)
    except ValueError as error:
        raise node.refused(f"{shown(key)} should be a number: {error}") from None
