"""The gate's rule: how often equal programs fail it, and what it does at the margin and beyond."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from simulation.scenarios import SCENARIOS, Scenario, paired
from tiltyard.stats.looks import TABULATED
from tiltyard.stats.margin import BETTER, BEYOND, UNDECIDED, WITHIN, against_margin, level_of
from tiltyard.stats.sequential import Spending, profile_of_family
from tiltyard.stats.types import FloatArray, IntArray

FAMILIES = 2_000
MARGIN = float(np.log1p(0.03))
QUIET = next(one for one in SCENARIOS if one.name == "normal, CV 1 %")
LIMIT = binom.ppf(0.9999, FAMILIES, 0.05) / FAMILIES


@cache
def equal(scenario: Scenario, size: int) -> FloatArray:
    """Differences of equal programs, shape (families, size, 20 blocks)."""
    rng = np.random.default_rng(48)
    return paired(scenario.draw(rng, FAMILIES * size, 40), rng).reshape(FAMILIES, size, 20)


def outcomes(scenario: Scenario, effect: float, size: int = 1) -> IntArray:
    """What the gate says of families of programs that are all slower by an effect."""
    name = profile_of_family("standard", False, size)
    spending = Spending(name, False, TABULATED[name])
    rows = equal(scenario, size).reshape(-1, 20) + effect
    found = against_margin(rows, spending, MARGIN, level_of(size), ended=False)
    return found.outcome.reshape(FAMILIES, size)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", [1, 12])
def test_equal_programs_are_hardly_ever_a_regression(scenario: Scenario, size: int) -> None:
    false = (outcomes(scenario, 0.0, size) == BEYOND).any(axis=1).mean()
    assert false <= 0.01, f"{100 * false:.2f} % of suites of equal programs fail"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", [1, 12])
def test_at_the_margin_itself_neither_answer_is_given_too_often(
    scenario: Scenario, size: int
) -> None:
    """A suite passes if each headline does, and fails if any does."""
    found = outcomes(scenario, MARGIN, size)
    assert (found == BEYOND).any(axis=1).mean() <= LIMIT
    assert np.isin(found, (WITHIN, BETTER)).all(axis=1).mean() <= LIMIT


def test_each_headline_passes_by_its_own_interval_and_claims_by_those_that_hold_together() -> None:
    """Suites of twenty equal programs at a noise of 2 %; then one of them is at the margin."""
    name = profile_of_family("standard", False, 20)
    spending = Spending(name, False, TABULATED[name])
    rows = np.random.default_rng(12).normal(0, 0.02 * np.sqrt(2), (1_000, 20, 20))
    for first, least, most in ((0.0, 0.65, 0.85), (MARGIN, 0.0, 0.029)):
        rows[:, 0] += first
        suites = rows.reshape(-1, 20)
        found = against_margin(suites, spending, MARGIN, level_of(20), ended=False)
        outcome = found.outcome.reshape(1_000, 20)
        passed = np.isin(outcome, (WITHIN, BETTER)).all(axis=1).mean()
        assert least <= passed <= most, f"{100 * passed:.1f} % of suites pass"
        for claim in (BETTER, BEYOND):
            assert (outcome == claim).any(axis=1).mean() <= 0.05
        claimed = np.isin(found.outcome, (BEYOND, BETTER))
        assert set(found.level[claimed]) <= {1 - 0.05 / 20}
        assert set(found.level[~claimed & (found.blocks > 0)]) == {0.95}


def test_what_is_clear_is_said() -> None:
    """On a quiet host: equal programs pass, one that is 6 % slower does not, in every suite."""
    assert np.isin(outcomes(QUIET, 0.0), (WITHIN, BETTER)).mean() > 0.99
    assert (outcomes(QUIET, 2 * MARGIN) == BEYOND).mean() > 0.99
    assert (outcomes(QUIET, -2 * MARGIN) == BETTER).all()
    assert (outcomes(QUIET, 2 * MARGIN, 12) == BEYOND).mean() > 0.95


def test_an_answer_stays_and_blocks_that_are_missing_are_waited_for() -> None:
    spending = Spending("standard", False, TABULATED["standard"])
    slower = np.full(20, 2 * MARGIN) + np.linspace(-0.001, 0.001, 20)
    turned = np.where(np.arange(20) < 7, slower, -slower)
    short = np.where(np.arange(20) < 6, slower, np.nan)
    few = np.where(np.arange(20) < 17, np.tile([-0.2, 0.3], 10), np.nan)
    rows = np.stack([slower, turned, short, few])
    running = against_margin(rows, spending, MARGIN, level_of(1), ended=False)
    assert running.outcome.tolist() == [BEYOND, BEYOND, UNDECIDED, UNDECIDED]
    assert running.blocks.tolist() == [7, 7, 0, 14]
    ended = against_margin(rows, spending, MARGIN, level_of(1), ended=True)
    assert ended.blocks.tolist() == [7, 7, 0, 17]
    assert ended.outcome.tolist()[:3] == [BEYOND, BEYOND, UNDECIDED]
