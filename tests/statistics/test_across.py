"""Studies against studies: what sessions add is not claimed as a difference."""

import pytest
from scipy.stats import binom

from simulation.across import SESSIONS, AcrossRates, across_rates

PATHS = 300


def credible(share: float, rate: float) -> bool:
    """Whether such a share may come of a true rate of at most ``rate``: once in 10,000 not."""
    return bool(binom.sf(round(share * PATHS) - 1, PATHS, rate) > 1e-4)


@pytest.fixture(scope="module")
def found() -> AcrossRates:
    return across_rates(PATHS, seed=57, studies=(3, 6, 10))


def test_ranks_of_sessions_hold_their_level_and_two_heaps_of_blocks_do_not(found):
    for one in found.two:
        for sessions in SESSIONS:
            assert credible(one.by_ranks[sessions], 0.05), one
    assert all(one.by_welch > 0.4 for one in found.two if one.spread == 0.03)


def test_pooled_intervals_of_normal_studies_cover(found):
    for one in found.pooled:
        if one.law == "normal":
            assert all(credible(1 - covered, 0.065) for covered in one.covered.values()), one


def test_nothing_is_claimed_too_often_whatever_studies_add(found):
    for one in found.pooled:
        assert one.claimed[3] == 0
        assert all(credible(claimed, 0.075) for claimed in one.claimed.values()), one


def test_three_studies_of_two_kinds_deceive_the_interval(found):
    """Why fewer than six studies decide nothing."""
    assert 1 - found.pooled[-1].covered[3] > 0.15
