"""Do the intervals cover as often as they say, at the moment of stopping?

Many A/A comparisons through the shipped functions; the true log ratio is zero.
"""

from collections.abc import Callable

import numpy as np
import pytest

from tiltyard.stats.sequential import looks, repeated_interval
from tiltyard.stats.signed_rank import SignedRank, signed_rank
from tiltyard.stats.types import FloatArray

STUDIES = 4000
ROPE = np.log1p(0.01)
Noise = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(0, 0.03, shape)


def bimodal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Three runs of ten are a tenth slower."""
    return rng.normal(0, 0.01, shape) + np.log(0.9) * (rng.random(shape) < 0.3)


def stalls(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """One run of ten stalls."""
    return rng.normal(0, 0.01, shape) - rng.exponential(0.15, shape) * (rng.random(shape) < 0.1)


def differences(noise: Noise, rng: np.random.Generator, drift: float = 0.0) -> FloatArray:
    """Paired differences of two equal systems in random order, shape (studies, 30 blocks).

    ``drift`` is the change of the log value from one trial to the next.
    """
    first = noise(rng, (STUDIES, 30))
    second = noise(rng, (STUDIES, 30)) + drift
    order = rng.choice([-1.0, 1.0], (STUDIES, 30))
    return order * (second - first)


def at_stopping(path: FloatArray, constants: tuple[tuple[int, int], ...]) -> SignedRank:
    """The interval at the look at which a study of one comparison would stop."""
    for n, c in constants:
        found = signed_rank(path[:n], c)
        different = found.low > 0 or found.high < 0
        equivalent = found.low > -ROPE and found.high < ROPE
        if different or equivalent:
            break
    return found


def coverage(paths: FloatArray, profile: str, strict: bool, blocks: int | None) -> float:
    constants = looks(profile, strict, blocks)
    intervals = [at_stopping(path, constants) for path in paths]
    return float(np.mean([found.low <= 0 <= found.high for found in intervals]))


@pytest.mark.parametrize("noise", [gaussian, bimodal, stalls])
@pytest.mark.parametrize("drift", [0.0, -0.0025])
def test_standard_covers_at_stopping(noise, drift):
    paths = differences(noise, np.random.default_rng(11), drift)
    assert 0.94 <= coverage(paths, "standard", False, None) <= 0.965


@pytest.mark.parametrize(("profile", "strict"), [("quick", False), ("rigorous", False)])
def test_other_profiles_cover_at_stopping(profile, strict):
    paths = differences(gaussian, np.random.default_rng(12))
    assert 0.94 <= coverage(paths, profile, strict, None) <= 0.965


@pytest.mark.parametrize(("blocks", "exact"), [(7, 0.953125), (10, 0.951171875)])
def test_fixed_designs_cover_exactly(blocks, exact):
    paths = differences(bimodal, np.random.default_rng(13))
    error = 4 * np.sqrt(exact * (1 - exact) / STUDIES)
    assert coverage(paths, "fixed", False, blocks) == pytest.approx(exact, abs=error)


def test_strict_constants_hold_while_the_noise_grows_a_hundredfold():
    growth = np.geomspace(1, 100, 30)
    paths = differences(gaussian, np.random.default_rng(14)) * growth
    strict = coverage(paths, "standard", True, None)
    assert strict >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / STUDIES)
    assert strict > coverage(paths, "standard", False, None)


def test_sequential_p_values_are_valid_at_every_level():
    """Under the null the final p-value is at most a in at most a share a of the studies."""
    constants = looks("standard", False, None)
    paths = differences(gaussian, np.random.default_rng(15))[:, :20]
    found = [repeated_interval(path, "standard", constants) for path in paths]
    p_values = np.array([interval.p for interval in found if interval])
    assert len(p_values) == STUDIES
    for level in (0.005, 0.02, 0.05, 0.1, 0.3):
        share = np.mean(p_values <= level)
        assert share <= level + 4 * np.sqrt(level / STUDIES)


def test_a_true_difference_is_covered_and_mostly_found():
    rng = np.random.default_rng(16)
    paths = differences(gaussian, rng) + np.log(1.05)
    found = [at_stopping(path, looks("standard", False, None)) for path in paths]
    covered = np.mean([one.low <= np.log(1.05) <= one.high for one in found])
    decided = np.mean([one.low > 0 for one in found])
    wrong = np.mean([one.high < 0 for one in found])
    blocks = np.mean([one.n for one in found])
    assert covered >= 0.95
    # The method's simulation of this case: 99 % power, 10.2 blocks.
    assert decided >= 0.97
    assert wrong <= 0.002
    assert 9.8 <= blocks <= 10.6
