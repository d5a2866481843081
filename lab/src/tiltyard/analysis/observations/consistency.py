"""Which of two systems varies less."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.telling import nearest, p_text
from tiltyard.analysis.quantity import GridCell, pairs_of
from tiltyard.stats.consistency import SpreadRatio, spread_ratio

LEAST: Final = math.log(1.25)
"""A smaller ratio of standard deviations, should it be as small as its interval allows, is no
news: with skewed noise it comes about by chance more often than tests say."""


def _look(scene: Scene) -> Iterator[Result]:
    pairs = list(pairs_of(scene.measured.systems))
    for cell in scene.some_cells(len(pairs)):
        for later, earlier in pairs:
            own = cell.quantity.log_values[:, [later, earlier]]
            own = own[np.isfinite(own).all(axis=1)]
            if len(own) < KIND.min_blocks:
                continue
            found = spread_ratio(own[:, 0], own[:, 1], ALPHA)
            if found is not None:
                systems = scene.measured.systems[later], scene.measured.systems[earlier]
                yield Result(found.p, _claim(cell, systems, found))


def _claim(cell: GridCell, systems: tuple[str, str], found: SpreadRatio) -> Claim | None:
    """``None`` where the interval of the ratio does not bear the test out, or is near to 1."""
    if nearest(found.low, found.high) <= LEAST or found.log_ratio * found.correlation <= 0:
        return None
    first_spreads_more = found.log_ratio > 0
    steady, shaky = systems[::-1] if first_spreads_more else systems
    low, high = sorted((abs(found.low), abs(found.high)))
    return Claim(
        subject=(cell.quantity.metric, steady, shaky),
        place=f"{cell.at_label} ({math.exp(abs(found.log_ratio)):.1f}×)",
        metric=cell.metric.name,
        systems=(steady, shaky),
        blocks=found.n,
        size=low,
        sentence=(
            f"{cell.quantity.topic}: {steady} is more consistent than {shaky}, whose standard "
            f"deviation is {math.exp(abs(found.log_ratio)):.1f}× as large (99 % interval "
            f"{math.exp(low):.1f}× to {math.exp(high):.1f}×, {found.n} blocks)"
        ),
        evidence=(
            f"Pitman–Morgan with ranks and fair signs (correlation of sum and difference "
            f"{abs(found.correlation):.2f}) and signed ranks of the distances from the median, the "
            f"larger {p_text(found.p)}; interval by jackknife of the log ratio"
        ),
    )


KIND = Kind(
    name="consistency",
    says="METRIC: SYSTEM is more consistent than SYSTEM, whose standard deviation is …×",
    test=(
        "Pitman–Morgan on sums and differences within blocks, with ranks, against fair signs, and "
        "signed ranks of the distances from the medians: the larger p-value; told where the "
        "jackknife interval of the ratio of standard deviations is beyond 1.25"
    ),
    min_blocks=10,
    correction="family",
    look=_look,
)
