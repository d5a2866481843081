"""False winners of results that were not run here, by law, shared noise and rounding."""

import pytest
from scipy.stats import binom

from simulation.imports import (
    CELLS,
    PAIRS,
    SHARED,
    TWO_POINTS,
    VALUES,
    SharedRates,
    draws,
    shared_rates,
)
from simulation.rounded import RoundedRates, rounded_rates

REPORTS = 400
WELCH_OF_TWO_POINTS = 0.065
"""Exact for normal means only: of two equal modes and seven values it claims 5.6–6 %."""


def credible(share: float, reports: int, rate: float = 0.05) -> bool:
    """Whether such a share may come of a true rate of at most ``rate``: once in 10,000 not."""
    return bool(binom.sf(round(share * reports) - 1, reports, rate) > 1e-4)


@pytest.fixture(scope="module")
def shared() -> dict[tuple[str, float], SharedRates]:
    return {(one.law, one.shared): one for one in shared_rates(REPORTS, seed=21)}


@pytest.fixture(scope="module")
def rounded() -> dict[int, RoundedRates]:
    return {one.values: one for one in rounded_rates(12, seed=22)}


def test_every_law_with_every_correlation(shared):
    assert set(shared) == {(law, rho) for law in draws() for rho in SHARED}
    assert CELLS == 13


@pytest.mark.parametrize("rho", SHARED)
@pytest.mark.parametrize("law", draws())
def test_a_headline_names_a_winner_among_equals_no_more_often_than_allowed(law, rho, shared):
    found = shared[law, rho]
    rate = WELCH_OF_TWO_POINTS if law == TWO_POINTS else 0.05
    for n in VALUES:
        assert credible(found.values[n], REPORTS, rate), n
    assert credible(found.paired, REPORTS)
    for n, share in found.summarised.items():
        assert credible(share, REPORTS // 4, rate), n


def test_the_test_above_can_fail(shared):
    """Cells of one run taken as independent, as they once were."""
    for (_, rho), found in shared.items():
        worst = max(found.as_independent.values())
        assert credible(worst, REPORTS, 0.065) == (rho == 0.0)


@pytest.mark.parametrize("n", [3, 5, PAIRS])
def test_rounding_names_no_winner_and_no_equivalence(n, rounded):
    assert rounded[n].false == 0.0
    assert rounded[n].equivalent == 0.0


def test_numbers_taken_as_exact_would_name_winners(rounded):
    assert rounded[3].as_exact > 0.1
