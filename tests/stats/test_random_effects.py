"""Effects of several studies, against published figures and against what must hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard.stats.random_effects import RandomEffects, unmet

BCG = np.array(
    [
        (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
        (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892),
        (29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338),
        (27, 16886, 29, 17825),
    ],
    dtype=float,
)  # fmt: skip
"""Thirteen trials of a vaccine (Colditz et al., JAMA 271, 1994): the example of many textbooks."""


def vaccine() -> RandomEffects:
    treated, well, ill, other = BCG.T
    risks = treated / (treated + well), ill / (ill + other)
    variances = 1 / treated - 1 / (treated + well) + 1 / ill - 1 / (ill + other)
    return RandomEffects(np.log(risks[0] / risks[1]), variances)


def test_a_textbook_example() -> None:
    """Figures of the R package metafor (Viechtbauer, J. Stat. Softw. 36, 2010)."""
    found = vaccine()
    assert found.spread == pytest.approx(0.3181, abs=2e-4)
    assert found.spread_interval == pytest.approx((0.1197, 1.1115), abs=2e-4)
    assert found.inconsistency == pytest.approx(0.9212, abs=1e-4)  # Q = 152.233
    assert found.p_same < 1e-20
    assert found.mean == pytest.approx(-0.715, abs=1e-3)


def test_the_interval_is_students_where_studies_are_alike_in_precision() -> None:
    estimates = np.array([0.1, 0.3, 0.2, 0.5, 0.25, 0.4])
    found = RandomEffects(estimates, np.full(6, 1e-4))
    error = estimates.std(ddof=1) / math.sqrt(6)
    low, high = found.interval()
    assert (low, high) == pytest.approx(
        (estimates.mean() - 2.5706 * error, estimates.mean() + 2.5706 * error), rel=1e-4
    )


def test_it_is_never_narrower_than_with_the_spread_known() -> None:
    found = RandomEffects(np.array([0.1, 0.1001, 0.0999]), np.full(3, 0.01))
    assert found.spread == 0
    assert found.error == pytest.approx(math.sqrt(0.01 / 3))


def test_no_claim_is_surer_than_few_studies_are_of_one_kind() -> None:
    for studies, chance in ((3, 0.25), (5, 0.0625), (6, 0.03125)):
        found = RandomEffects(np.full(studies, 0.5), np.full(studies, 1e-9))
        assert found.p == chance == found.chance


def test_of_two_studies_nothing_is_predicted_and_of_equal_ones_nothing_spreads() -> None:
    two = RandomEffects(np.array([0.1, 0.4]), np.array([0.01, 0.02]))
    assert two.prediction() is None
    same = RandomEffects(np.full(4, 0.2), np.zeros(4))
    assert (same.mean, same.spread, same.spread_interval) == (pytest.approx(0.2), 0, (0, 0))
    assert same.inconsistency == 0


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-5, 1)), min_size=3, max_size=9),
    st.floats(-2, 2),
)
def test_it_moves_with_its_values_and_turns_with_their_sign(
    values: list[tuple[float, float]], by: float
) -> None:
    estimates, variances = np.array(values).T
    found = RandomEffects(estimates, variances)
    moved = RandomEffects(estimates + by, variances)
    turned = RandomEffects(-estimates, variances)
    assert moved.mean == pytest.approx(found.mean + by, abs=1e-6)
    assert moved.spread == pytest.approx(found.spread, rel=1e-4, abs=1e-9)
    low, high = found.interval()
    assert turned.interval() == pytest.approx((-high, -low), abs=1e-9)
    predicted = found.prediction()
    assert predicted is not None
    assert predicted[0] <= low <= found.mean <= high <= predicted[1]


@pytest.mark.parametrize(("units", "percent"), [(6, 39), (12, 22), (1, 95)])
def test_a_kind_of_the_share_that_is_told_is_missed_in_one_of_twenty(
    units: int, percent: int
) -> None:
    share = unmet(units)
    assert (1 - share) ** units == pytest.approx(0.05)
    assert round(100 * share) == percent
