"""Trials that resemble their neighbours in time."""

import math
from collections.abc import Iterator

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.series import Series, series_of
from tiltyard.analysis.observations.telling import p_text
from tiltyard.stats.permutation import lag_one, permutation_p


def _look(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).condensed
    if series.is_long(KIND.min_blocks):
        p = permutation_p(lag_one, series.values, seed=scene.plan.seed)
        yield Result(p, _claim(scene.name, series, p) if p < ALPHA else None)


def _claim(workload: str, series: Series, p: float) -> Claim | None:
    from scipy.stats import norm

    found = float(lag_one(series.values[None, :])[0])
    # Fisher's transformation, with n − 1 pairs of neighbours.
    reach = float(norm.isf(ALPHA / 2)) / math.sqrt(len(series.values) - 4)
    low, high = (math.tanh(math.atanh(found) + sign * reach) for sign in (-1, 1))
    if low <= 0:
        return None
    return series.claim(
        size=low * float(series.values.std()),
        sentence=(
            f"{workload}: neighbouring trials resemble each other: lag-1 autocorrelation "
            f"{found:.2f} (99 % interval {low:.2f} to {high:.2f}, {series.blocks} blocks, "
            f"{series.trials} trials); what disturbs one trial mostly lasts longer than it"
        ),
        evidence=(
            f"permutation of the lag-1 autocorrelation of the distances from what is typical of "
            f"the system, {p_text(p)}; interval by Fisher's transformation"
        ),
    )


KIND = Kind(
    name="autocorrelation",
    says="WORKLOAD: neighbouring trials resemble each other: lag-1 autocorrelation …",
    test="permutation of the lag-1 autocorrelation of residuals; told where no drift or step is",
    min_blocks=7,
    correction="family",
    look=_look,
)
