"""Whose slowest operations are slower."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import Claim, Kind, Result, Scene, some
from tiltyard.analysis.observations.telling import interval, nearest, p_text, ratio
from tiltyard.analysis.quantity import GridCell, pairs_of
from tiltyard.run.samples import PERCENTILES
from tiltyard.stats.sequential import LEVEL, RepeatedInterval, repeated_interval
from tiltyard.stats.types import FloatArray

TAILS: Final = {"p999": (0.999, "99.9th percentile"), "p99": (0.99, "99th percentile")}
"""Percentiles that are called the tail, the farthest first."""
RESOLVED: Final = 100
"""Operations beyond a percentile in each trial, from which on it is resolved."""

Place = tuple[str, tuple[tuple[str, int | str], ...]]


def _look(scene: Scene) -> Iterator[Result]:
    measured = scene.measured
    cells = [*measured.cells, *measured.latencies, *measured.details]
    timed = [cell for cell in cells if np.isfinite(cell.percentiles).any()]
    if not timed:
        return
    counts = _fewest_operations(scene)
    for cell in some(timed, len(list(pairs_of(measured.systems)))):
        count = counts[cell.metric.name, tuple(cell.at.items())]
        name = next((p for p, (q, _) in TAILS.items() if count * (1 - q) >= RESOLVED), None)
        if name is not None:
            yield from _tests(scene, cell, name)


def _fewest_operations(scene: Scene) -> Mapping[Place, int]:
    """Of any trial, for each metric and point."""
    found: dict[Place, int] = {}
    for trial in scene.measured.done:
        for sample in trial.samples:
            if sample.latency_ns is not None:
                place = sample.metric, tuple(sample.at.items())
                found[place] = min(sample.latency_ns.count, found.get(place, 1 << 62))
    return found


def _tests(scene: Scene, cell: GridCell, name: str) -> Iterator[Result]:
    design = scene.plan.design
    looks = tuple((look.blocks, look.c) for look in design.looks)
    seconds: FloatArray = cell.percentiles[:, :, PERCENTILES.index(name)]
    logs = np.log(seconds, out=np.full(seconds.shape, np.nan), where=seconds > 0)
    for later, earlier in pairs_of(scene.measured.systems):
        differences = logs[:, later] - logs[:, earlier]
        differences = differences[np.isfinite(differences)]
        if len(differences) < KIND.min_blocks:
            continue
        by = partial(repeated_interval, differences, design.profile, looks, design.strict)
        found = by()
        if found is not None:
            systems = scene.measured.systems[later], scene.measured.systems[earlier]
            least = math.log1p(design.equivalent_within)
            at = partial(_claim_at, cell, name, systems, least, by)
            yield Result(found.p, at(LEVEL))


def _claim_at(
    cell: GridCell,
    name: str,
    systems: tuple[str, str],
    least: float,
    by: Callable[..., RepeatedInterval | None],
    alpha: float,
) -> Claim | None:
    """What an interval of that error rate shows, if it shows more than ``least`` (a log ratio)."""
    found = by(level=alpha)
    if found is None or nearest(found.low, found.high) <= least:
        return None
    claim = _claim(cell, name, systems, found)
    return replace(claim, at=partial(_claim_at, cell, name, systems, least, by))


def _claim(cell: GridCell, name: str, systems: tuple[str, str], found: RepeatedInterval) -> Claim:
    worse, better = systems if found.estimate > 0 else systems[::-1]
    sign = 1 if found.estimate > 0 else -1
    low, high = sorted((sign * found.low, sign * found.high))
    amount = ratio(sign * found.estimate, low, high)
    return Claim(
        subject=(cell.quantity.metric, name, worse, better),
        place=f"{cell.at_label} ({amount})",
        metric=cell.metric.name,
        systems=(worse, better),
        blocks=found.blocks,
        size=low,
        sentence=(
            f"{cell.quantity.topic}: the tail of {worse} is worse than that of {better}: the "
            f"{TAILS[name][1]} of one operation is {amount} ({interval(low, high, found.level)}, "
            f"{found.blocks} blocks)"
        ),
        evidence=(
            f"repeated signed-rank interval of the {TAILS[name][1]} of each trial, paired within "
            f"blocks, {p_text(found.p)}; at least {RESOLVED} operations of each trial lie beyond it"
        ),
    )


KIND = Kind(
    name="tail",
    says="METRIC: the tail of SYSTEM is worse than that of SYSTEM: the … percentile is …",
    test=(
        "the sequential signed-rank test of the verdicts, on each trial's farthest percentile with "
        "100 operations beyond it; told beyond the study's region of equivalence"
    ),
    min_blocks=10,
    correction="family",
    look=_look,
)
