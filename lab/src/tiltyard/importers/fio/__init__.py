"""fio's JSON and JSON+: each job is one point, and its threads are one.

Threads of a job that fio did not put together itself are put together as its ``group_reporting``
does it: bytes are added and divided by the longest runtime, latencies are weighed by their
operations. Percentiles can be joined where the histograms were kept (JSON+).

What jobs claim of the page cache is held against what the kernel counted of their processes.
``direct=1`` claims that every read goes past it. ``invalidate=1``, which fio does unless told
otherwise, claims that a job begins without what it holds of its files: whatever it reads first
comes from the device. That much can be said of a job of which the report tells what it reads first.
The kernel's count has fio's own program in it, where that was not in memory: some MB, which hide
what a job of a few MB did.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.fio.report import KIB, Job, bytes_moved, jobs_of, report_of
from tiltyard.importers.importer import Disproved, ForPeople, Imported, Importer, Measured, single
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

_ENOUGH: Final = 0.9
"""Share of what was read past the cache that the counters have at least: they may miss a request
that began before them."""
_NO: Final = frozenset(("0", "false"))
_WAYS: Final = frozenset(("read", "randread", "rw", "readwrite", "randrw"))
_ENGINES: Final = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring")
)
_SIZE: Final = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_FORESEEN: Final = frozenset(
    (
        *("rw", "readwrite", "bs", "blocksize", "size", "numjobs", "iodepth", "ioengine", "direct"),
        *("invalidate", "runtime", "time_based", "loops", "thread", "group_reporting", "new_group"),
        *("stonewall", "startdelay", "rwmixread", "rwmixwrite", "rate", "rate_iops", "thinktime"),
        *("fsync", "fdatasync", "end_fsync", "fsync_on_close", "create_fsync", "refill_buffers"),
        *("randrepeat", "randseed", "unlink", "percentile_list", "clat_percentiles", "nrfiles"),
    )
)
"""With these options alone each block of the files is read once before one is read again."""


@dataclass(frozen=True)
class _Claim:
    """What jobs claim to read from the device."""

    jobs: tuple[str, ...]
    option: str
    what: str
    asked_bytes: int
    fix: str
    stated: bool = True


def disproved(data: bytes, name: str, device_bytes: int) -> Disproved | None:
    """What was not read as jobs claim; ``None``: nothing speaks against them.

    Args:
        data: fio's report.
        name: of the report, for messages.
        device_bytes: read below the page cache, by all of its processes.
    """
    jobs = jobs_of(report_of(data, name))
    claims = [claim for claim in (_direct(jobs), *_cold(jobs)) if claim.asked_bytes]
    asked = 0
    for place, claim in enumerate(claims):
        asked += claim.asked_bytes
        if device_bytes < _ENOUGH * asked:
            first = claims[: place + 1]
            said = "; ".join(f"{', '.join(one.jobs)}: {one.option}" for one in first)
            return Disproved(
                message=f"{said}, and of {asked:,} B that {claim.what} only {device_bytes:,} B "
                "came from a device: the rest was in memory, or not to be seen",
                fix=claim.fix,
                stated=claim.stated,
            )
    return None


def _direct(jobs: list[Job]) -> _Claim:
    """All reads of jobs that go past the page cache."""
    own = [job for job in jobs if _is_on(job.options, "direct", "0")]
    return _Claim(
        jobs=tuple(job.name for job in own),
        option="direct=1",
        what="were read",
        asked_bytes=sum(_bytes(job, "read") for job in own),
        fix="leave direct=1 out, or measure a file system that keeps it",
    )


def _cold(jobs: list[Job]) -> Iterator[_Claim]:
    """First reads of jobs that drop the page cache before: those that say so, then the others."""
    for stated in (True, False):
        of_files: dict[str, int] = {}
        names = []
        for job in jobs:
            if ("invalidate" in job.options) is not stated or _is_written_meanwhile(job, jobs):
                continue
            if first := _first_bytes(job):
                names.append(job.name)
                # What others have read of a shared file is in memory.
                files = job.filename or f"files of {job.name}"
                of_files[files] = max(first, of_files.get(files, 0))
        yield _Claim(
            jobs=tuple(names),
            option="invalidate=1" if stated else "invalidate=1, as by default",
            what="are read first",
            asked_bytes=sum(of_files.values()),
            fix="write invalidate=0, or let what is written reach the disk before (end_fsync=1)",
            stated=stated,
        )


def _is_written_meanwhile(job: Job, jobs: list[Job]) -> bool:
    """Whether another job puts its file into memory at the same time; ``stonewall`` waits."""
    if not job.filename or "stonewall" in job.options:
        return False
    others = (one for one in jobs if one is not job and one.filename == job.filename)
    return any(_bytes(one, "write") for one in others)


def _first_bytes(job: Job) -> int:
    """Bytes that no thread of a job had read or written before; 0 where that is not known."""
    options = job.options
    way = options.get("rw", options.get("readwrite", "")).partition(":")[0]
    foreseen = options.keys() <= _FORESEEN and way in _WAYS
    if not foreseen or options.get("ioengine", "psync") not in _ENGINES:
        return 0
    if _is_on(options, "direct", "0") or not _is_on(options, "invalidate", "1"):
        return 0
    size = _SIZE.fullmatch(options.get("size", ""))
    threads = options.get("numjobs", "1")
    if size is None or not threads.isdigit():
        return 0
    of_files = int(size[1]) << 10 * " kmgt".index(size[2].lower() or " ")
    if not job.filename:
        of_files *= int(threads)
    read, written = _bytes(job, "read"), _bytes(job, "write")
    return read * min(of_files, read + written) // max(1, read + written)


def _bytes(job: Job, way: str) -> int:
    """Of all threads of a job."""
    ways = (thread.get(way) for thread in job.threads)
    return int(sum(bytes_moved(own) for own in ways if own is not None))


def _is_on(options: Mapping[str, str], name: str, default: str) -> bool:
    """An option without a value is switched on."""
    return options.get(name, default) not in _NO


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


_PACING: Final = frozenset(("rate", "rate_iops", "rate_min", "thinktime"))
_SLICES: Final = (
    "fio states one value of each job, of its whole runtime; the deviations that it prints are "
    "those of slices of time within one run, say nothing of how well a run repeats, and are not "
    "used."
)


def read(data: bytes, name: str) -> Imported:
    """One file as ``fio --output-format=json`` or ``json+`` wrote it."""
    top = report_of(data, name)
    limits = [_SLICES]
    found: list[Measured] = []
    options: dict[str, Mapping[str, str]] = {}
    for job in jobs_of(top):
        if job.error:
            limits.append(
                f"Job {job.name} ended with error {job.error} ({os.strerror(job.error)}); what it "
                "did is left out."
            )
            continue
        own = [replace(one, at={"job": job.name}) for one in measured(job.threads, limits)]
        limits += job.remarks([one.metric for one in own])
        options[job.name] = job.options
        found += own
    return single(
        use="fio",
        lineage=top["fio version"].text(),
        metrics=_headlines(options.values()),
        measured=tuple(found),
        parameters=_parameters(options),
        grid=("job",),
        limits=tuple(dict.fromkeys(limits)),
    )


def _parameters(options: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """An option that all jobs share once; else with the jobs that have it."""
    found = {}
    for key in dict.fromkeys(key for option in options.values() for key in option):
        held = {job: own[key] or "1" for job, own in options.items() if key in own}
        alike = len(held) == len(options) and len(set(held.values())) == 1
        found[key] = (
            next(iter(held.values()))
            if alike
            else "; ".join(f"{job}: {value}" for job, value in held.items())
        )
    return found


def _headlines(jobs: Iterable[Iterable[str]]) -> tuple[CollectedMetric, ...]:
    """Where a rate is given, what is measured is the latency; ``jobs``: the options of each."""
    if not any(_PACING.intersection(options) for options in jobs):
        return METRICS
    return tuple(
        one.model_copy(update={"headline": one.name.endswith("completion_latency")})
        for one in METRICS
    )


def _asked(words: Sequence[str], files: Sequence[str]) -> tuple[CollectedMetric, ...]:
    """What a command line of fio asks for, with its job files."""
    typed = (word.lstrip("-").partition("=")[0] for word in words if word.startswith("-"))
    return _headlines((typed, *map(_options_in, files)))


def _options_in(job_file: str) -> Iterator[str]:
    """Names of all options in a job file, whichever job has them."""
    for line in map(str.strip, job_file.splitlines()):
        if line and line[0] not in "#;[":
            yield line.partition("=")[0].strip()


IMPORTER: Final = Importer(
    name="fio",
    about="fio --output-format=json or json+, of fio 2 and 3, also among notes; of clients, too",
    left_out="submission latencies, shortest and longest latencies, deviations, CPU, queue "
    "depths, priorities, utilisation of disks",
    cut_off="refused, as it is no JSON then",
    repeats="a job that stands there again as it is",
    recognises=lambda head: '"fio version"' in head,
    read=read,
    for_people=ForPeople(
        r"^\S.*: \(g=\d+\): rw=|^\d;fio-\d", "let fio write --output-format=json or json+"
    ),
    metrics=METRICS,
    grid=("job",),
    timed=tuple(one.name for one in METRICS if one.unit == "s"),
    bin_width=1 / 64,
    # Of fio 2 and 3; later ones differ by less than a bin.
    last_bin_s=16.7,
    disproved=disproved,
    asked=_asked,
)
