"""A moment of the session from which on all values are others."""

import math
from collections.abc import Iterator

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.series import LEAST, Series, is_rather_a_step, series_of
from tiltyard.analysis.observations.telling import interval, nearest, p_text, ratio
from tiltyard.stats.level_shift import level_shift
from tiltyard.stats.permutation import largest_cusum, permutation_p


def _look(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).of_blocks.condensed
    if series.is_long(KIND.min_blocks):
        p = permutation_p(largest_cusum, series.values, seed=scene.plan.seed)
        yield Result(p, _claim(scene.name, series, p) if p < ALPHA else None)


def _claim(workload: str, series: Series, p: float) -> Claim | None:
    """``None`` where no single step is found, it is too small to matter, or a line fits better."""
    found = level_shift(series.values, ALPHA)
    if found is None or nearest(found.low, found.high) <= LEAST:
        return None
    if not is_rather_a_step(series, found.place):
        return None
    # Between two blocks.
    trial = math.ceil(series.slots[found.place - 1 : found.place + 1].mean())
    parts = found.change, found.low, found.high
    return series.claim(
        size=nearest(found.low, found.high),
        sentence=(
            f"{workload}: all values changed at once by {ratio(*parts)} at about trial "
            f"{trial} of the session ({interval(*parts[1:])}, "
            f"{series.blocks} blocks, {series.trials} trials)"
        ),
        evidence=(
            f"largest cumulative sum of the distances of blocks from what is typical of the "
            f"systems, permutation of blocks {p_text(p)}; place by PELT, interval by Welch"
        ),
    )


KIND = Kind(
    name="step",
    says="WORKLOAD: all values changed at once by … at about trial … of the session",
    test=(
        "permutation of blocks, of the largest cumulative sum of their mean residuals; place by "
        "PELT; told where the step is certainly larger than 1 % and two levels fit better than a "
        "line"
    ),
    min_blocks=12,
    correction="family",
    look=_look,
)
