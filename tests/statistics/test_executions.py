"""A trial's mean is the mean, however the executions of a command vary."""

import numpy as np
import pytest

from simulation.executions import (
    ASKED,
    LAWS,
    MEANS_S,
    OURS,
    UNTIL,
    execution_rates,
    tried,
    until_enough,
)
from tiltyard.plan.program import AT_LEAST_S
from tiltyard.run.sizing import BIAS, Tried, executions_for

PATHS = 60


@pytest.mark.parametrize("law", LAWS)
def test_the_logarithm_of_a_trials_mean_is_off_by_the_bias_that_is_held_to(law: str) -> None:
    """Of as many executions as the command itself asks for, where a second allows them."""
    rng = np.random.default_rng(6)
    times_s = 0.005 * LAWS[law](rng, 100_000)
    number = Tried(1, tuple(times_s[:5_000].tolist())).needs
    means_s = times_s[: number * (len(times_s) // number)].reshape(-1, number).mean(axis=1)
    assert np.log(means_s).mean() - np.log(times_s.mean()) == pytest.approx(-BIAS, abs=0.002)


def test_a_number_for_all_is_found_without_what_is_measured() -> None:
    found = {(own.law, own.mean_s): own for own in execution_rates(PATHS, 6)}
    assert len(found) == len(LAWS) * len(MEANS_S)
    slowest = found[next(iter(LAWS)), MEANS_S[-1]]
    assert slowest.bias[UNTIL] > 0.1, "the rule that it takes the place of"
    for own in found.values():
        deviation = 0.5 / np.sqrt(PATHS * 20 * own.executions)
        assert abs(own.bias[OURS]) < 4 * deviation
        assert own.executions * own.mean_s <= 2 * ASKED.most_s


def test_what_is_tried_is_what_a_trial_would_do() -> None:
    rng = np.random.default_rng(6)
    draw = LAWS[next(iter(LAWS))]
    for times_s in until_enough(rng, draw, 0.03, 50):
        assert times_s.sum() >= AT_LEAST_S > times_s[:-1].sum()
    assert 1 <= executions_for([tried(rng, draw, 0.03)], ASKED) <= 60
