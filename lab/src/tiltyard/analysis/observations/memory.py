"""How much of a file can be cached, and what the counters of the device say of where reads went."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final

from tiltyard.analysis.axes import Axis, Level
from tiltyard.analysis.quantity import Measured
from tiltyard.run.record import RunRecord
from tiltyard.units import SIZE_UNITS

FACTS: Final = ("memory available at start", "memory")
"""Of the host, the one that says most first."""
_SIZE: Final = re.compile(r"([\d.]+) (B|KiB|MiB|GiB|TiB)")


@dataclass(frozen=True)
class TrialReads:
    """What one trial read, and how much of its work each level had."""

    system: str
    read_bytes: int
    device_read_bytes: int
    work_bytes: dict[str, dict[Level, int]]
    """Axis → level → bytes of all metrics there."""


@dataclass(frozen=True)
class Cache:
    """What is there to cache with."""

    size_bytes: float
    source: str


@dataclass(frozen=True)
class DeviceReads:
    """Where reads came from; medians over trials."""

    overall: float
    """Bytes that the device read, over bytes that were read."""
    before_at_least: float
    """The same of the reads at the levels before a point, even if every read beyond it had gone to
    the device."""
    beyond_at_least: float
    """The same of the reads beyond it, even if every one before it had."""
    trials: int


def cache_of(run: RunRecord, measured: Measured) -> Cache | None:
    """The limit that trials were put under, else what the host had; ``None`` if nothing tells."""
    limits = [
        access.memory_limit_bytes
        for trial in measured.done
        if trial.end and (access := trial.end.access) and access.memory_limit_bytes
    ]
    if limits:
        return Cache(float(median(limits)), "memory limit of the trials")
    for fact in FACTS:
        if found := _SIZE.fullmatch(run.host.get(fact, "")):
            return Cache(float(found[1]) * SIZE_UNITS[found[2]], fact)
    return None


def trial_reads(measured: Measured) -> tuple[TrialReads, ...]:
    """The trials in which the counters of the device tell what was read."""
    found = []
    for trial in measured.done:
        access = trial.end.access if trial.end else None
        if access is None or access.device_read_bytes is None or access.read_bytes == 0:
            continue
        work: dict[str, dict[Level, int]] = {}
        for sample in trial.samples:
            for axis, level in sample.at.items():
                levels = work.setdefault(axis, {})
                levels[level] = levels.get(level, 0) + sample.bytes
        found.append(
            TrialReads(trial.key.system, access.read_bytes, access.device_read_bytes, work)
        )
    return tuple(found)


def device_reads(
    reads: Iterable[TrialReads], system: str, axis: Axis, beyond: int
) -> DeviceReads | None:
    """What the device read at levels from ``beyond`` on; ``None`` where no counter tells.

    A trial has one counter for all levels. They have the same share of reads, because every metric
    is measured at each of them.
    """
    found = [
        shares for one in reads if one.system == system and (shares := _shares(one, axis, beyond))
    ]
    if not found:
        return None
    overall, before, after = (median(shares) for shares in zip(*found, strict=True))
    return DeviceReads(overall, before, after, len(found))


def _shares(one: TrialReads, axis: Axis, beyond: int) -> tuple[float, float, float] | None:
    levels = one.work_bytes.get(axis.names[0], {})
    after = sum(
        work for level, work in levels.items() if isinstance(level, int) and level >= beyond
    )
    total = sum(levels.values())
    if not 0 < after < total:
        return None
    read_beyond = one.read_bytes * after / total
    read_before = one.read_bytes - read_beyond
    return (
        one.device_read_bytes / one.read_bytes,
        _share_of(read_before, one.device_read_bytes - read_beyond),
        _share_of(read_beyond, one.device_read_bytes - read_before),
    )


def _share_of(whole: float, part: float) -> float:
    return min(1.0, max(0.0, part / whole))
