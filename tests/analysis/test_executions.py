"""How many executions make a trial: as many as pay, where a turn costs what it costs."""

import math

import numpy as np
import pytest

from tiltyard.analysis.pilot import MOST_TRIAL_S, Executions
from tiltyard.stats.replication import VarianceComponents


def found(trials: float, turns: float) -> VarianceComponents:
    """Own variances of the two levels above executions."""
    return VarianceComponents((3, 5), (trials, turns), (trials, turns))


def test_what_scatters_within_a_trial_is_averaged_there() -> None:
    executed = Executions(variance=0.05**2, number=10, each_s=0.01)
    # What a trial's mean carries of its executions is not counted again.
    components = found(0.05**2 / 10 + 0.01**2, 0.02**2)
    wanted = math.sqrt((0.04 / 0.01) * 0.05**2 / (0.01**2 + 0.02**2))
    assert executed.cheapest(components, 0.1 + 0.04) == math.ceil(wanted)


@pytest.mark.parametrize(
    ("variance", "turns", "wanted"), [(0.0, 0.01, 1), (0.01, 0.0, int(MOST_TRIAL_S / 0.02))]
)
def test_the_ends(variance: float, turns: float, wanted: int) -> None:
    executed = Executions(variance=variance, number=5, each_s=0.02)
    assert executed.cheapest(found(variance / 5, turns), 1.0) == wanted


def test_the_number_found_is_the_cheapest_of_all() -> None:
    """Variance of a study's mean times what it costs, over all numbers."""
    each_s, around_s, within, between = 0.008, 0.03, 0.004, 0.0007
    numbers = np.arange(1, 60)
    cost = (within / numbers + between) * (around_s + numbers * each_s)
    executed = Executions(variance=within, number=12, each_s=each_s)
    number = executed.cheapest(found(within / 12, between), around_s + 12 * each_s)
    assert abs(number - numbers[cost.argmin()]) <= 1
