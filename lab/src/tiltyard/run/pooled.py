"""One stream of several clients' streams.

Amounts are added up; a rate is their sum over the time from the first start to the last end; times
of single operations are pooled bucket by bucket, and percentiles are read from what that gives: a
mean of percentiles is a percentile of nothing. What cannot be pooled so is left out, and stays in
each client's own stream.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, isclose
from typing import Final

from msgspec.structs import replace

from tiltyard.executors.barrier import Start
from tiltyard.run.samples import SUB_BUCKET_BITS
from tiltyard.run.stream import Stream
from tiltyard.study.clients import STONEWALL
from tiltyard.wire import (
    Client,
    ClientEvent,
    ClientRegion,
    End,
    EndEvent,
    Event,
    HelloEvent,
    Interval,
    IntervalEvent,
    Latency,
    Region,
    RegionEvent,
    Sample,
    SampleEvent,
    Side,
    WarningEvent,
    WarningNote,
)

SKEW_MAX_S: Final = 0.025
"""Later than that nobody may begin: longer than a scheduler lets another task have a processor."""
SKEW_MAX_SHARE: Final = 0.01
"""In a longer region as much of it: that moves a sum by half of the equivalence margin, at most."""
_TAILS: Final = {"p999": (0.999, 10_000), "p9999": (0.9999, 100_000)}
"""Percentiles that need so many operations."""
_READ_FROM_HISTOGRAM: Final = ("min", "max", "mean", "p50", "p90", "p99", "p999", "p9999")
_WORST: Final = ("contradicted", "unverified", "confirmed")
_RATES: Final = ("B/s", "1/s")
_SAME: Final = 1e-9


class NotPooledError(Exception):
    """The clients' streams make no common one; the message says why."""


@dataclass(frozen=True)
class ClientStream:
    """What one client said, and when its regions were to begin."""

    name: str
    file: str
    sha256: str
    stream: Stream
    starts: Sequence[Start]


@dataclass
class _Timed:
    """A timed region of one client, with what was computed from it."""

    region: Region
    intervals: list[Interval] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    began_s: float = 0.0
    """Since the first client began it."""
    uncertainty_s: float = 0.0

    @property
    def ended_s(self) -> float:
        return self.began_s + self.region.elapsed_s


def pool(clients: Sequence[ClientStream]) -> list[Event]:
    """The events of the common stream.

    Args:
        clients: whose trials are done, in order of their numbers.

    Raises:
        NotPooledError: if they did not begin together, or did not measure the same.
    """
    timed = [list(_regions(client)) for client in clients]
    if len({len(own) for own in timed}) != 1 or not timed[0]:
        counts = ", ".join(
            f"{one.name}: {len(own)}" for one, own in zip(clients, timed, strict=True)
        )
        raise NotPooledError(f"the clients did not time the same regions ({counts})")
    together = list(zip(*timed, strict=True))
    events: list[Event] = []
    before_s, left_out = 0.0, set[str]()
    for regions in together:
        _require_together(clients, regions)
        events += _intervals(regions, before_s)
        before_s += max(one.ended_s for one in regions)
        rows = list(zip(*(one.samples for one in regions), strict=True))
        for samples in rows:
            pooled = list(_samples(samples, regions, rows))
            left_out |= set() if pooled else {samples[0].metric}
            events += [SampleEvent(sample) for sample in pooled]
    first = clients[0].stream
    head = [event for event in first.events if isinstance(event, HelloEvent)]
    lines = (_line(client, own) for client, own in zip(clients, timed, strict=True))
    told = [ClientEvent(type="client", data=line) for line in lines]
    warned = [*_warnings(clients), *_left_out(left_out)]
    end = EndEvent(type="end", data=_end(clients))
    return [*head, *told, *events, *warned, end]


def _regions(client: ClientStream) -> Iterator[_Timed]:
    """The timed regions of a client, each with what follows it."""
    own: _Timed | None = None
    for event in client.stream.events:
        if isinstance(event, RegionEvent):
            if own is not None:
                yield own
            own = _Timed(event.data)
        elif own is not None and isinstance(event, IntervalEvent):
            own.intervals.append(event.data)
        elif own is not None and isinstance(event, SampleEvent):
            own.samples.append(event.data)
    if own is not None:
        yield own


def _require_together(clients: Sequence[ClientStream], regions: Sequence[_Timed]) -> None:
    """Set when each began by our clock, and look whether that was together."""
    began_ns = []
    for client, own in zip(clients, regions, strict=True):
        there_ns = own.region.began_ns
        start = max((s for s in client.starts if s.there_ns <= there_ns), key=lambda s: s.at_ns)
        began_ns.append(there_ns - start.clock.ahead_ns)
        own.uncertainty_s = start.clock.uncertainty_ns / 1e9
    for own, at_ns in zip(regions, began_ns, strict=True):
        own.began_s = (at_ns - min(began_ns)) / 1e9
    names = {tuple((one.metric, *one.at.items()) for one in own.samples) for own in regions}
    if len(names) != 1:
        raise NotPooledError("the clients did not measure the same")
    limit_s = max(SKEW_MAX_S, SKEW_MAX_SHARE * min(own.region.elapsed_s for own in regions))
    last = max(range(len(regions)), key=lambda place: regions[place].began_s)
    late_s = regions[last].began_s + max(own.uncertainty_s for own in regions)
    if late_s > limit_s:
        raise NotPooledError(
            f"client {clients[last].name} began {1e3 * late_s:.1f} ms after the first one (limit "
            f"{1e3 * limit_s:.0f} ms): the clients did not load the system together"
        )


def _samples(
    samples: Sequence[Sample], regions: Sequence[_Timed], rows: Sequence[Sequence[Sample]]
) -> Iterator[Sample]:
    """One value of those of all clients, and of a rate the one while all were at work.

    Args:
        samples: one of each client.
        regions: the timed region of each.
        rows: all that was computed from these regions, one row a metric.
    """
    first = samples[0]
    pairs = list(zip(samples, regions, strict=True))
    is_whole = all(isclose(s.elapsed_s, r.region.elapsed_s, rel_tol=_SAME) for s, r in pairs)
    longest_s = max(sample.elapsed_s for sample in samples)
    span_s = max(one.ended_s for one in regions) if is_whole else longest_s
    both = replace(
        first,
        operations=sum(sample.operations for sample in samples),
        bytes=sum(sample.bytes for sample in samples),
        elapsed_s=span_s,
        native=None,
        latency_ns=_latency([one.latency_ns for one in samples if one.latency_ns]),
    )
    if first.unit in _RATES:
        if all(isclose(s.value, _rate(s), rel_tol=_SAME) for s in samples):
            yield replace(both, value=_rate(both))
        else:
            # Of another formula, as of IOzone's children, whose rates are added up too.
            yield replace(both, value=sum(sample.value for sample in samples))
        if is_whole:
            yield _stonewall(both, pairs)
    elif first.unit == "1" and (sent := _sent(samples, rows)):
        yield replace(both, value=1 - both.bytes / max(sent, 1))
    elif first.unit == "s" and both.latency_ns:
        yield replace(both, value=both.latency_ns.mean / 1e9)
    elif first.unit == "s" and (value_s := _of_histogram(samples, rows)) is not None:
        yield replace(both, value=value_s)
    elif first.unit == "s" and all(isclose(s.value, s.elapsed_s, rel_tol=_SAME) for s in samples):
        yield replace(both, value=span_s)


def _of_histogram(samples: Sequence[Sample], rows: Sequence[Sequence[Sample]]) -> float | None:
    """A mean, percentile or extreme of the pooled histogram, where each client's is of its own.

    Which one is in the name, ``…_p99``; whose it is shows in that each client's value is just it.
    """
    name = samples[0].metric.rpartition("_")[2]
    if name not in _READ_FROM_HISTOGRAM:
        return None
    for row in rows:
        found = [one.latency_ns for one in row if one.latency_ns]
        values = [getattr(one, name) for one in found]
        if len(found) == len(samples) and all(
            value is not None and isclose(sample.value, value / 1e9, rel_tol=_SAME)
            for sample, value in zip(samples, values, strict=True)
        ):
            pooled: float | None = getattr(_latency(found), name)
            return None if pooled is None else pooled / 1e9
    return None


def _sent(samples: Sequence[Sample], rows: Sequence[Sequence[Sample]]) -> int:
    """Bytes that were sent, of all, where each client's value is the share that did not arrive."""
    for row in rows:
        pairs = zip(samples, row, strict=True)
        if (
            row[0].unit == "B/s"
            and row[0].bytes
            and all(
                isclose(one.value, 1 - one.bytes / max(sent.bytes, 1), rel_tol=_SAME, abs_tol=_SAME)
                for one, sent in pairs
            )
        ):
            return sum(sent.bytes for sent in row)
    return 0


def _rate(sample: Sample) -> float:
    amount = sample.bytes if sample.unit == "B/s" else sample.operations
    return amount / sample.elapsed_s if sample.elapsed_s > 0 else 0.0


def _stonewall(both: Sample, pairs: Sequence[tuple[Sample, _Timed]]) -> Sample:
    """The rate from when the last client began until the first one was done."""
    from_s = max(one.began_s for _, one in pairs)
    until_s = max(min(one.ended_s for _, one in pairs), from_s + 1e-9)
    shares = [
        (sample, _share(one, until_s - one.began_s) - _share(one, from_s - one.began_s))
        for sample, one in pairs
    ]
    inside = replace(
        both,
        metric=both.metric + STONEWALL,
        operations=round(sum(sample.operations * share for sample, share in shares)),
        bytes=round(sum(sample.bytes * share for sample, share in shares)),
        elapsed_s=until_s - from_s,
        latency_ns=None,
    )
    return replace(inside, value=_rate(inside))


def _share(one: _Timed, until_s: float) -> float:
    """Share of a region's work that was done by then; even within a time slice."""
    total = one.region.bytes or one.region.operations
    if not total:
        return 0.0
    before_s = one.intervals[-1].t_s - one.region.elapsed_s if one.intervals else 0.0
    done, begin_s = 0.0, 0.0
    for interval in one.intervals:
        end_s = interval.t_s - before_s
        amount = interval.bytes if one.region.bytes else interval.operations
        inside_s = min(until_s, end_s) - begin_s
        if inside_s > 0:
            done += amount * (inside_s / (end_s - begin_s))
        begin_s = end_s
    return done / total


def _latency(found: Sequence[Latency]) -> Latency | None:
    """The pooled histogram, with the engine's rule for percentiles: a bucket's upper edge."""
    if not found:
        return None
    counts: Counter[int] = Counter()
    for one in found:
        counts.update(dict(one.buckets))
    buckets = sorted(counts.items())
    count, longest = sum(one.count for one in found), max(one.max for one in found)

    def percentile(share: float) -> int:
        seen, rank = 0, max(1, ceil(share * count))
        for low, own in buckets:
            seen += own
            if seen >= rank:
                width = 1 << max(0, low.bit_length() - 1 - SUB_BUCKET_BITS)
                return min(low + width - 1, longest)
        return longest

    tails = {
        name: percentile(share) if count >= least else None
        for name, (share, least) in _TAILS.items()
    }
    return Latency(
        count=count,
        min=min(one.min for one in found),
        max=longest,
        mean=sum(one.mean * one.count for one in found) / count,
        p50=percentile(0.5),
        p90=percentile(0.9),
        p99=percentile(0.99),
        buckets=buckets,
        **tails,
    )


def _intervals(regions: Sequence[_Timed], before_s: float) -> Iterator[Event]:
    """Slices of the same number together: they are equally long, but for the last ones."""
    slices: dict[int, list[tuple[float, Interval]]] = {}
    for one in regions:
        local_s = one.intervals[-1].t_s - one.region.elapsed_s if one.intervals else 0.0
        for number, interval in enumerate(one.intervals):
            slices.setdefault(number, []).append((one.began_s + interval.t_s - local_s, interval))
    for own in slices.values():
        interval = Interval(
            t_s=before_s + max(end_s for end_s, _ in own),
            operations=sum(one.operations for _, one in own),
            bytes=sum(one.bytes for _, one in own),
        )
        yield IntervalEvent(type="interval", data=interval)


def _line(client: ClientStream, timed: Sequence[_Timed]) -> Client:
    return Client(
        name=client.name,
        file=client.file,
        sha256=client.sha256,
        clock_ahead_s=client.starts[-1].clock.ahead_ns / 1e9,
        regions=[
            ClientRegion(
                began_s=one.began_s,
                uncertainty_s=one.uncertainty_s,
                elapsed_s=one.region.elapsed_s,
                operations=one.region.operations,
                bytes=one.region.bytes,
            )
            for one in timed
        ],
    )


def _warnings(clients: Sequence[ClientStream]) -> Iterator[WarningEvent]:
    """Each once, with the clients that gave it."""
    found: dict[tuple[str, str], tuple[WarningNote, list[str]]] = {}
    for client in clients:
        for event in client.stream.events:
            if isinstance(event, WarningEvent):
                key = (event.data.code, event.data.message)
                found.setdefault(key, (event.data, []))[1].append(client.name)
    for note, names in found.values():
        message = f"client {', '.join(names)}: {note.message}"
        yield WarningEvent(type="warning", data=note.model_copy(update={"message": message}))


def _left_out(metrics: Iterable[str]) -> Iterator[WarningEvent]:
    if names := ", ".join(sorted(metrics)):
        note = WarningNote(
            code="not-pooled",
            message=f"{names}: a value of all clients cannot be made of theirs",
            advice="look at each client's own stream",
        )
        yield WarningEvent(type="warning", data=note)


def _end(clients: Sequence[ClientStream]) -> End:
    """Sums; the cache state is the worst one."""
    ends = [one.stream.end for one in clients if one.stream.end]
    first = ends[0]
    checksum = 0
    for end in ends:
        checksum ^= int(end.checksum or "0", 16)
    counters: Counter[str] = Counter()
    for end in ends:
        counters.update(end.counters)
    return first.model_copy(
        update={
            "operations": sum(end.operations for end in ends),
            "bytes": sum(end.bytes for end in ends),
            "elapsed_s": max(end.elapsed_s for end in ends),
            "checksum": f"{checksum:016x}",
            "counters": dict(counters),
            "access": _access(clients),
            "network": _network(ends),
            "usage": _usage(ends),
        }
    )


def _access(clients: Sequence[ClientStream]) -> object:
    found = [(one.name, one.stream.end.access) for one in clients if one.stream.end]
    named = [(name, access) for name, access in found if access]
    if not named:
        return None
    name, worst = min(named, key=lambda one: _WORST.index(one[1].verdict))
    return worst.model_copy(
        update={
            "reason": f"client {name}: {worst.reason}",
            "read_bytes": sum(access.read_bytes for _, access in named),
            "written_bytes": sum(access.written_bytes for _, access in named),
        }
    )


def _usage(ends: Sequence[End]) -> object:
    """What clients of one host took for the work of strangers is that of the other clients."""
    usages = [end.usage for end in ends]
    first = usages[0]
    added = ("user_s", "system_s", "voluntary_switches", "involuntary_switches", "minor_faults",
             "major_faults", "peak_memory_bytes")  # fmt: skip
    sums = {name: sum(getattr(one, name) for one in usages) for name in added}
    own_s = sums["user_s"] + sums["system_s"]
    counted = (one for one in usages if one.foreign_s is not None)
    strangers_s = [one.foreign_s - (own_s - one.user_s - one.system_s) for one in counted]
    foreign_s = max(0.0, min(strangers_s)) if strangers_s else None
    return first.model_copy(update={**sums, "foreign_s": foreign_s})


def _network(ends: Sequence[End]) -> object:
    found = [end.network for end in ends if end.network]
    if not found:
        return None
    both = {
        "near": _side([network.near for network in found]),
        # The time that one process took serving all of them was seen by each.
        "far": _side([network.far for network in found], apart=False),
    }
    return found[0].model_copy(update=both)


def _side(sides: Sequence[Side], *, apart: bool = True) -> Side:
    """Amounts of all; the processors are those of one host, as the busiest saw them.

    Args:
        sides: that of each client.
        apart: whether each is a process of its own.
    """
    added = ("sent_bytes", "received_bytes", "sends", "receives")
    sums = {name: sum(getattr(one, name) for one in sides) for name in added}
    times = {name: [getattr(one, name) for one in sides] for name in ("user_s", "system_s")}
    sums |= {name: sum(seen) if apart else max(seen) for name, seen in times.items()}
    return max(sides, key=lambda side: side.busy).model_copy(update=sums)
