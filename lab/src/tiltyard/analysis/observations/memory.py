"""How much of a file can be cached, and what the counters of the device say of where reads went."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

from tiltyard.analysis.axes import Axis
from tiltyard.analysis.observations.claim import Scene
from tiltyard.analysis.quantity import final_trials
from tiltyard.run.record import TrialRecord

FACTS: Final = ("memory available at start", "memory")
"""Of the host, the one that says most first."""
_SIZE: Final = re.compile(r"([\d.]+) (B|KiB|MiB|GiB|TiB)")
_UNITS: Final = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


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
    beyond_at_least: float
    """The same of the reads at the levels beyond a point, at least: even if every read before it
    had gone to the device."""
    trials: int


def cache_of(scene: Scene) -> Cache | None:
    """The limit that trials were put under, else what the host had; ``None`` if nothing tells."""
    limits = [
        access.memory_limit_bytes
        for trial in _done(scene)
        if trial.end and (access := trial.end.access) and access.memory_limit_bytes
    ]
    if limits:
        return Cache(float(median(limits)), "memory limit of the trials")
    for fact in FACTS:
        if found := _SIZE.fullmatch(scene.run.host.get(fact, "")):
            return Cache(float(found[1]) * _UNITS[found[2]], fact)
    return None


def device_reads(scene: Scene, system: str, axis: Axis, beyond: int) -> DeviceReads | None:
    """What the device read at levels from ``beyond`` on; ``None`` where no counter tells.

    A trial has one counter for all levels. They have the same share of reads, because every metric
    is measured at each of them.
    """
    found = [
        shares
        for trial in _done(scene)
        if trial.key.system == system and (shares := _shares(trial, axis, beyond))
    ]
    if not found:
        return None
    overall, at_least = zip(*found, strict=True)
    return DeviceReads(median(overall), median(at_least), len(found))


def _shares(trial: TrialRecord, axis: Axis, beyond: int) -> tuple[float, float] | None:
    access = trial.end.access if trial.end else None
    if access is None or access.device_read_bytes is None or access.read_bytes == 0:
        return None
    total = sum(sample.bytes for sample in trial.samples)
    after = sum(
        sample.bytes
        for sample in trial.samples
        if isinstance(level := axis.level(sample.at), int) and level >= beyond
    )
    if not 0 < after <= total:
        return None
    read_beyond = access.read_bytes * after / total
    read_before = access.read_bytes - read_beyond
    certain = max(0.0, access.device_read_bytes - read_before)
    return access.device_read_bytes / access.read_bytes, min(1.0, certain / read_beyond)


def _done(scene: Scene) -> Iterator[TrialRecord]:
    """The trials of the workload."""
    for key, trial in final_trials(scene.run).items():
        if key.workload == scene.name and trial.outcome == "done":
            yield trial
