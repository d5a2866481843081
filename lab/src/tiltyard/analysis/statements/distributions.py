"""Further findings on distributions: modes, spread, tails."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from tiltyard.analysis.quantity import GridCell, log_width, pairs_of
from tiltyard.analysis.statements.evidence import ALPHA, Candidate, Result, Scene, some
from tiltyard.analysis.statements.numbers import interval, nearest, p_text, ratio
from tiltyard.analysis.statements.statement import Statement
from tiltyard.run.samples import BIN_WIDTH, PERCENTILES
from tiltyard.stats.bimodal import Dip, dip_test, two_modes
from tiltyard.stats.consistency import SpreadRatio, spread_ratios
from tiltyard.stats.sequential import LEVEL, RepeatedInterval, repeated_interval
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of, format_value, reading_unit

SEPARATION: Final = 4.0
MINOR_WEIGHT: Final = 0.10
BIC_GAIN: Final = 10.0


def _bimodal_tests(scene: Scene) -> Iterator[Result]:
    systems = scene.measured.systems
    for cell in scene.some_cells(len(systems)):
        for column, system in enumerate(systems):
            own = cell.log_values[:, column]
            own = own[np.isfinite(own)]
            if len(own) >= BIMODAL.min_blocks and np.ptp(own) > 0:
                dip = dip_test(own)
                claim = _bimodal_claim(scene, cell, system, own, dip) if dip.p < ALPHA else None
                yield Result(dip.p, claim)


def _bimodal_claim(
    scene: Scene, cell: GridCell, system: str, values: FloatArray, dip: Dip
) -> Candidate | None:
    """``None`` where a mixture of two does not confirm what the test of unimodality says."""
    from scipy.special import ndtri

    found = two_modes(values)
    confirmed = found.separation >= SEPARATION and found.minor_weight >= MINOR_WEIGHT
    if not confirmed or found.bic_gain <= BIC_GAIN:
        return None
    counts = found.n * found.weight_low, found.n * (1 - found.weight_low)
    error = found.sigma * math.sqrt(1 / counts[0] + 1 / counts[1])
    distance = found.high - found.low
    reach = float(-ndtri(ALPHA / 2)) * error
    low, high = distance - reach, distance + reach
    unit = reading_unit(cell.metric.unit, network=scene.measured.network)
    lower, upper = (format_value(math.exp(mode), unit) for mode in (found.low, found.high))
    return Candidate(
        subject=(cell.named, system),
        place=cell.at_label,
        metric=cell.metric.name,
        systems=(system,),
        blocks=found.n,
        size=nearest(low, high),
        sentence=(
            f"{cell.topic}: two modes on {system}: about {lower} in "
            f"{100 * found.weight_low:.0f} % of the blocks and {upper} in the others, "
            f"{ratio(distance, low, high)} apart ({interval(low, high)}, "
            f"{count_of(found.n, 'block')}); no "
            "single number summarises it"
        ),
        evidence=(
            f"Hartigan's dip {dip.dip:.3f}, {p_text(dip.p)}; mixture of two on the log scale: "
            f"{found.separation:.1f} σ apart, BIC {found.bic_gain:.0f} better than one"
        ),
    )


BIMODAL: Final = Statement(
    name="bimodal",
    shown="further finding",
    says="METRIC: two modes on SYSTEM: about … in … % of the blocks and … in the others",
    test=(
        "Hartigan's dip test; printed where a mixture of two normal laws on the log scale agrees: "
        "4 σ apart, the smaller one 10 % or more, BIC better by more than 10"
    ),
    min_blocks=30,
    correction="family",
    make=_bimodal_tests,
)


LEAST: Final = math.log(1.25)
"""A smaller ratio of standard deviations, should it be as small as its interval allows, is no
news: with skewed noise it comes about by chance more often than tests say."""


def _consistency_tests(scene: Scene) -> Iterator[Result]:
    pairs = list(pairs_of(scene.measured.systems))
    for cell in scene.some_cells(len(pairs)):
        for (later, earlier), found in _spread_ratios(cell.log_values, pairs):
            systems = scene.measured.systems[later], scene.measured.systems[earlier]
            yield Result(found.p, _consistency_claim(cell, systems, found))


def _spread_ratios(
    values: FloatArray, pairs: list[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], SpreadRatio]]:
    """Of each pair of columns of an array of shape (blocks, systems), over the blocks of both."""
    places = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    first, second = values.T[places[:, 0]], values.T[places[:, 1]]
    usable = np.isfinite(first) & np.isfinite(second)
    counts = usable.sum(axis=1)
    found: dict[int, SpreadRatio | None] = {}
    for n in np.unique(counts[counts >= CONSISTENCY.min_blocks]).tolist():
        rows = np.flatnonzero(counts == n)
        own = usable[rows]
        one, other = (each[rows][own].reshape(-1, n) for each in (first, second))
        found.update(zip(rows.tolist(), spread_ratios(one, other, ALPHA), strict=True))
    for row, ratio_found in sorted(found.items()):
        if ratio_found is not None:
            yield pairs[row], ratio_found


def _consistency_claim(
    cell: GridCell, systems: tuple[str, str], found: SpreadRatio
) -> Candidate | None:
    """``None`` where the interval of the ratio does not bear the test out, or is near to 1."""
    if nearest(found.low, found.high) <= LEAST or found.log_ratio * found.correlation <= 0:
        return None
    first_spreads_more = found.log_ratio > 0
    steady, shaky = systems[::-1] if first_spreads_more else systems
    low, high = sorted((abs(found.low), abs(found.high)))
    return Candidate(
        subject=(cell.named, steady, shaky),
        place=f"{cell.at_label} ({math.exp(abs(found.log_ratio)):.1f}×)",
        metric=cell.metric.name,
        systems=(steady, shaky),
        blocks=found.n,
        size=low,
        sentence=(
            f"{cell.topic}: {steady} is more consistent than {shaky}, whose standard "
            f"deviation is {math.exp(abs(found.log_ratio)):.1f}× as large (99 % CI "
            f"{math.exp(low):.1f}× to {math.exp(high):.1f}×, {count_of(found.n, 'block')})"
        ),
        evidence=(
            f"Pitman–Morgan with ranks and fair signs (correlation of sum and difference "
            f"{abs(found.correlation):.2f}) and signed ranks of the distances from the median, the "
            f"larger {p_text(found.p)}; interval by jackknife of the log ratio"
        ),
    )


CONSISTENCY: Final = Statement(
    name="consistency",
    shown="further finding",
    says="METRIC: SYSTEM is more consistent than SYSTEM, whose standard deviation is …×",
    test=(
        "Pitman–Morgan on sums and differences within blocks, with ranks, against fair signs, and "
        "signed ranks of the distances from the medians: the larger p-value; printed where the "
        "jackknife interval of the ratio of standard deviations is beyond 1.25"
    ),
    min_blocks=10,
    correction="family",
    make=_consistency_tests,
)


TAILS: Final = {"p999": (0.999, "99.9th percentile"), "p99": (0.99, "99th percentile")}
"""Percentiles that are called the tail, the farthest first."""
RESOLVED: Final = 100
"""Operations beyond a percentile in each trial, from which on it is resolved."""

Place = tuple[str, tuple[tuple[str, int | str], ...]]


def _tail_tests(scene: Scene) -> Iterator[Result]:
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
        if len(differences) < TAIL.min_blocks:
            continue
        rules = (design.profile, looks, design.strict)
        by = partial(repeated_interval, differences, *rules, rounding=log_width(BIN_WIDTH))
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
) -> Candidate | None:
    """What an interval of that error rate shows, if it shows more than ``least`` (a log ratio)."""
    found = by(level=alpha)
    if found is None or nearest(found.low, found.high) <= least:
        return None
    claim = _tail_claim(cell, name, systems, found)
    return replace(claim, at=partial(_claim_at, cell, name, systems, least, by))


def _tail_claim(
    cell: GridCell, name: str, systems: tuple[str, str], found: RepeatedInterval
) -> Candidate:
    worse, better = systems if found.estimate > 0 else systems[::-1]
    sign = 1 if found.estimate > 0 else -1
    low, high = sorted((sign * found.low, sign * found.high))
    amount = ratio(sign * found.estimate, low, high)
    return Candidate(
        subject=(cell.named, name, worse, better),
        place=f"{cell.at_label} ({amount})",
        metric=cell.metric.name,
        systems=(worse, better),
        blocks=found.blocks,
        size=low,
        sentence=(
            f"{cell.topic}: the tail of {worse} is worse than that of {better}: the "
            f"{TAILS[name][1]} of one operation is {amount} ({interval(low, high, found.level)}, "
            f"{count_of(found.blocks, 'block')})"
        ),
        evidence=(
            f"repeated signed-rank interval of the {TAILS[name][1]} of each trial, paired within "
            f"blocks, with what the buckets of the histogram leave open, {p_text(found.p)}; at "
            f"least {RESOLVED} operations of each trial lie beyond it"
        ),
    )


TAIL: Final = Statement(
    name="tail",
    shown="further finding",
    says="METRIC: the tail of SYSTEM is worse than that of SYSTEM: the … percentile is …",
    test=(
        "the sequential signed-rank test of the verdicts, on each trial's farthest percentile with "
        "100 operations beyond it, with an interval that is wider by a bucket of the histogram; "
        "printed beyond the study's region of equivalence"
    ),
    min_blocks=10,
    correction="family",
    make=_tail_tests,
)
