"""Values that lie in two heaps.

With 10 to 29 values a gap can only hint at two modes: the statistics that would see them there are
wrong in 3 to 15 % of samples from skewed or heavy-tailed noise. A hint is not printed.
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.telling import interval, nearest, p_text, ratio
from tiltyard.analysis.quantity import GridCell
from tiltyard.stats.bimodal import Dip, dip_test, two_modes
from tiltyard.stats.types import FloatArray
from tiltyard.units import format_value, reading_unit

SEPARATION: Final = 4.0
MINOR_WEIGHT: Final = 0.10
BIC_GAIN: Final = 10.0


def _look(scene: Scene) -> Iterator[Result]:
    systems = scene.measured.systems
    for cell in scene.some_cells(len(systems)):
        for column, system in enumerate(systems):
            own = cell.quantity.log_values[:, column]
            own = own[np.isfinite(own)]
            if len(own) >= KIND.min_blocks and np.ptp(own) > 0:
                dip = dip_test(own)
                claim = _claim(scene, cell, system, own, dip) if dip.p < ALPHA else None
                yield Result(dip.p, claim)


def _claim(scene: Scene, cell: GridCell, system: str, values: FloatArray, dip: Dip) -> Claim | None:
    """``None`` where a mixture of two does not confirm what the test of unimodality says."""
    from scipy.stats import norm

    found = two_modes(values)
    confirmed = found.separation >= SEPARATION and found.minor_weight >= MINOR_WEIGHT
    if not confirmed or found.bic_gain <= BIC_GAIN:
        return None
    counts = found.n * found.weight_low, found.n * (1 - found.weight_low)
    error = found.sigma * math.sqrt(1 / counts[0] + 1 / counts[1])
    distance = found.high - found.low
    reach = float(norm.isf(ALPHA / 2)) * error
    low, high = distance - reach, distance + reach
    unit = reading_unit(cell.metric.unit, network=scene.measured.network)
    lower, upper = (format_value(math.exp(mode), unit) for mode in (found.low, found.high))
    return Claim(
        subject=(cell.quantity.metric, system),
        place=cell.at_label,
        metric=cell.metric.name,
        systems=(system,),
        blocks=found.n,
        size=nearest(low, high),
        sentence=(
            f"{cell.quantity.topic}: two modes on {system}: about {lower} in "
            f"{100 * found.weight_low:.0f} % of the blocks and {upper} in the others, "
            f"{ratio(distance, low, high)} apart ({interval(low, high)}, {found.n} blocks); no "
            "single number stands for it"
        ),
        evidence=(
            f"Hartigan's dip {dip.dip:.3f}, {p_text(dip.p)}; mixture of two on the log scale: "
            f"{found.separation:.1f} σ apart, BIC {found.bic_gain:.0f} better than one"
        ),
    )


KIND = Kind(
    name="bimodal",
    says="METRIC: two modes on SYSTEM: about … in … % of the blocks and … in the others",
    test=(
        "Hartigan's dip test; told where a mixture of two normal laws on the log scale agrees: "
        "4 σ apart, the smaller one 10 % or more, BIC better by more than 10"
    ),
    min_blocks=30,
    correction="family",
    look=_look,
)
