"""Equal over sessions, though not in each: what claims a difference, and what does not."""

import numpy as np
import pytest
from scipy.stats import binom

from simulation.sessions import PLANNED, SessionRates, session_rates
from tiltyard.stats.replication import spread_between

STUDIES = 2_000


def credible(share: float, rate: float) -> bool:
    """Whether such a share may come of a true rate of at most ``rate``: once in 10,000 not."""
    return bool(binom.sf(round(share * STUDIES) - 1, STUDIES, rate) > 1e-4)


@pytest.fixture(scope="module")
def found() -> tuple[SessionRates, ...]:
    return session_rates(STUDIES, seed=31)


def test_a_verdict_over_sessions_holds_its_level_whatever_sessions_add(found):
    for one in found:
        for sessions in PLANNED:
            assert credible(one.planned[sessions], 0.05), one
            assert credible(1 - one.covered[sessions], 0.05), one


def test_sessions_may_be_added_until_something_shows(found):
    for one in found:
        assert credible(one.added, 0.05), one


def test_one_session_and_its_re_runs_are_right_about_that_session_only(found):
    nothing, *others = found
    assert credible(nothing.one, 0.05)
    widest = [one for one in others if one.session_sd == 0.03]
    assert all(one.one > 0.4 and one.reruns > 0.3 for one in widest)


def test_three_sessions_of_two_kinds_deceive_students_t(found):
    """Why nothing is decided over fewer than six sessions."""
    assert not credible(found[-1].few_by_t, 0.05)


@pytest.mark.parametrize(("sizes", "ratio"), [((6,) * 6, 1.0), ((3, 7, 7, 9), 0.0), ((5,) * 3, 4)])
def test_the_interval_of_the_spread_between_groups_covers(sizes, ratio):
    rng = np.random.default_rng(32)
    covered, estimates = 0, []
    for _ in range(STUDIES):
        groups = [rng.normal(np.sqrt(ratio) * rng.normal(), 1, size) for size in sizes]
        spread = spread_between(groups)
        covered += spread.low <= ratio <= spread.high
        estimates.append(spread.between)
    assert credible(1 - covered / STUDIES, 0.05)
    if ratio:
        assert np.mean(estimates) == pytest.approx(ratio, rel=0.15)
