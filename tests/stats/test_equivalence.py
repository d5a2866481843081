import numpy as np
import pytest
from scipy.stats import ttest_rel, wilcoxon

from tiltyard.stats.equivalence import pairwise_tost
from tiltyard.stats.gaps import paired_gaps
from tiltyard.stats.signed_rank import largest_c, nominal_p

ROPE = np.log(1.05)


def levels(*means: float, blocks: int = 10, noise: float = 0.01) -> np.ndarray:
    return np.random.default_rng(2).normal(means, noise, (blocks, len(means)))


def test_every_pair_has_the_end_that_is_farthest_from_zero():
    """At that end the signed-rank test stops rejecting."""
    values = levels(0.0, 0.03, 0.1)
    found = pairwise_tost(values, 0.05)
    assert np.allclose(found.farthest, found.farthest.T)
    limit = nominal_p(10, largest_c(10, 0.10))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        far = found.farthest[first, second]
        differences = values[:, second] - values[:, first]
        beyond = wilcoxon(differences - far * 1.0001, method="exact").pvalue
        within = wilcoxon(differences - far * 0.999, method="exact").pvalue
        assert beyond <= limit < within + 1e-12


def test_the_longest_run_needs_every_pair():
    creeping = np.arange(6) * 0.02 + np.zeros((5, 6))
    found = pairwise_tost(creeping, 0.05)
    assert found.longest(ROPE) == (0, 2)
    assert not found.holds(0, 5, ROPE)
    assert found.reach(0, 2) == pytest.approx(0.04)


def test_the_longest_run_may_lie_anywhere():
    assert pairwise_tost(levels(0.0, 0.5, 0.5, 0.5, 0.9), 0.05).longest(ROPE) == (1, 3)
    assert pairwise_tost(levels(0.0, 0.5, 1.0), 0.05).longest(ROPE) == (0, 0)


def test_noise_is_never_sameness():
    assert pairwise_tost(levels(0.0, 0.0, 0.0, noise=0.2), 0.05).longest(ROPE) == (0, 0)


def test_a_true_difference_at_the_tolerance_is_called_the_same_in_five_percent():
    rng = np.random.default_rng(3)
    wrong = [
        pairwise_tost(rng.normal([0.0, ROPE], 0.02, (12, 2)), 0.05).holds(0, 1, ROPE)
        for _ in range(2000)
    ]
    assert 0.03 <= np.mean(wrong) <= 0.065


def test_four_blocks_are_too_few():
    with pytest.raises(ValueError, match="4 blocks"):
        pairwise_tost(levels(0.0, 0.0, blocks=4), 0.05)


def test_gaps_are_those_of_the_paired_t():
    values = levels(0.0, 0.2, 0.9, 1.0)
    gaps = paired_gaps(values)
    theirs = ttest_rel(values[:, 2], values[:, 1])
    low, high = theirs.confidence_interval(0.99)
    assert gaps.interval(1, 2, 0.01) == pytest.approx(
        (theirs.statistic * gaps.error[1, 2], low, high)
    )
    assert gaps.p(1, 2) == pytest.approx(theirs.pvalue)
    against = ttest_rel(values[:, 2], values[:, 1] + 0.1, alternative="greater")
    assert gaps.p_beyond(1, 2, 1, 0.1) == pytest.approx(against.pvalue)
    assert gaps.p_beyond(2, 1, -1, 0.1) == pytest.approx(against.pvalue)
