"""Values that move with time, all through the session."""

from collections.abc import Iterator

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.series import LEAST, Series, is_rather_a_step, series_of
from tiltyard.analysis.observations.telling import interval, nearest, p_text, ratio
from tiltyard.stats.level_shift import level_shift
from tiltyard.stats.trend import trend


def _look(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).of_blocks.condensed
    if not series.is_long(KIND.min_blocks):
        return
    found = trend(series.slots, series.values)
    if found is None:
        return
    claim = None
    if found.p < ALPHA:
        claim = _claim(scene.name, series, found.slope, found.spearman, found.p)
    yield Result(found.p, claim)


def _claim(workload: str, series: Series, slope: float, spearman: float, p: float) -> Claim | None:
    """``None`` where the drift is too small to matter, or is a step rather."""
    from scipy.stats import theilslopes

    span = float(series.slots[-1] - series.slots[0])
    slopes = theilslopes(series.values, series.slots, alpha=1 - ALPHA)
    change, low, high = slope * span, slopes.low_slope * span, slopes.high_slope * span
    if abs(change) <= LEAST or nearest(low, high) == 0:
        return None
    step = level_shift(series.values, ALPHA)
    if step is not None and is_rather_a_step(series, step.place):
        return None
    verb = "rose" if change > 0 else "fell"
    return series.claim(
        size=nearest(low, high),
        sentence=(
            f"{workload}: values {verb} over the session, by {ratio(change, low, high)} from the "
            f"first trial to the last ({interval(low, high)}, {series.blocks} blocks, "
            f"{series.trials} trials); every system met this alike"
        ),
        evidence=(
            f"Spearman of the mean distance of a block from what is typical of the systems with "
            f"its place in the order, {spearman:+.2f}, {p_text(p)} by permutation of "
            f"blocks; Theil–Sen slope with its interval"
        ),
    )


KIND = Kind(
    name="drift",
    says="WORKLOAD: values rose | fell over the session, by … from the first trial to the last",
    test=(
        "Spearman of a block's mean residual from the systems' medians with its place in the "
        "order, by permutation of blocks; told with the Theil–Sen slope where that makes more than "
        "1 %, and a line fits better than a step"
    ),
    min_blocks=12,
    correction="family",
    look=_look,
)
