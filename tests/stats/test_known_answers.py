"""C11: numbers that others published, and the exact test that SciPy has, to 1e-12."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from tiltyard.stats.looks import looks
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import Spending
from tiltyard.stats.signed_rank import largest_c, nominal_p, signed_rank
from tiltyard.stats.student import paired_ts
from tiltyard.stats.welch import moments, welch

# Student's sleep data (1908): hours gained with either drug by ten patients.
FIRST_DRUG = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SECOND_DRUG = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

# Wilcoxon's critical values as every textbook prints them: n → two-sided 5 %, two-sided 1 %.
CRITICAL = {
    8: (3, 0), 9: (5, 1), 10: (8, 3), 11: (10, 5), 12: (13, 7), 13: (17, 9), 14: (21, 12),
    15: (25, 15), 16: (29, 19), 17: (34, 23), 18: (40, 27), 19: (46, 32), 20: (52, 37),
    25: (89, 68), 30: (137, 109),
}  # fmt: skip

# Benjamini and Hochberg (1995), 4.1: fifteen comparisons of two treatments after heart attacks.
HEART = np.array(
    [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459,
     0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
)  # fmt: skip


@pytest.mark.parametrize("n", CRITICAL)
def test_critical_values_are_those_of_the_textbooks(n):
    assert tuple(largest_c(n, alpha) for alpha in (0.05, 0.01)) == CRITICAL[n]


def test_corrections_of_the_paper():
    """The false discovery rate lets four differences stand; the familywise rate, three."""
    assert np.count_nonzero(benjamini_hochberg(HEART) <= 0.05) == 4
    assert np.count_nonzero(holm(HEART) <= 0.05) == 3
    assert benjamini_hochberg(HEART)[3] == pytest.approx(15 * 0.0095 / 4, abs=1e-12)
    assert holm(HEART)[2] == pytest.approx(13 * 0.0019, abs=1e-12)


def test_paired_t_of_the_sleep_data():
    """As R prints it: t.test(extra ~ group, paired = TRUE)."""
    found = paired_ts((SECOND_DRUG - FIRST_DRUG)[np.newaxis], 0.05)
    assert found.estimate[0] == pytest.approx(1.58, abs=1e-12)
    assert (found.low[0], found.high[0]) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)
    assert found.p[0] == pytest.approx(0.002833, abs=5e-7)


def test_welch_of_the_sleep_data():
    """As R prints it: t.test(extra ~ group)."""
    found = welch(moments(FIRST_DRUG[np.newaxis]), moments(SECOND_DRUG[np.newaxis]))
    assert (found.low[0], found.high[0]) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)
    assert found.p[0] == pytest.approx(0.07939, abs=5e-6)


RANK_LOOKS = sorted(
    {
        look
        for profile, strict in (("quick", False), ("standard", False), ("rigorous", False),
                                ("standard", True), ("rigorous", True))
        for look in looks(profile, strict, None)
    }
)  # fmt: skip


@pytest.mark.parametrize(("n", "c"), RANK_LOOKS)
def test_intervals_of_all_looks_are_the_shifts_that_the_exact_test_keeps(n, c):
    differences = np.random.default_rng(n).normal(0.02, 0.03, n)
    found = signed_rank(differences, c)
    assert found.p == pytest.approx(wilcoxon(differences, method="exact").pvalue, abs=1e-12)
    step = 1e-9
    for bound, outwards in ((found.low, -1), (found.high, 1)):
        outside, inside = (
            wilcoxon(differences - bound - sign * outwards * step, method="exact").pvalue
            for sign in (1, -1)
        )
        assert outside == pytest.approx(nominal_p(n, c), abs=1e-12)
        assert inside == pytest.approx(nominal_p(n, c + 1), abs=1e-12)


def test_the_fast_profile_begins_with_students_t_at_one_percent():
    spending = Spending("fast", False, looks("fast", False, None))
    differences = np.random.default_rng(1).normal(0, 1, (1, 5))
    found = spending.evidence(0, differences)
    reach = 4.604094871 * np.std(differences, ddof=1) / np.sqrt(5)
    assert found.high[0] - found.estimate[0] == pytest.approx(reach, rel=1e-9)
