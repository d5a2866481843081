import numpy as np
import pytest

from simulation.confidence_sequence import confidence_sequence


@pytest.mark.parametrize(
    ("first", "widths"),
    [(5, {5: 1.99, 10: 1.21, 20: 0.80, 30: 0.64}), (3, {10: 1.38, 20: 0.89, 30: 0.71})],
)
def test_half_widths_are_those_of_the_method(first, widths):
    """In units of the deviation of the differences (with n − 1)."""
    rng = np.random.default_rng(1)
    path = rng.normal(0, 1, (1, 30))
    found = confidence_sequence(path, first)
    for blocks, expected in widths.items():
        place = list(found.blocks).index(blocks)
        width = (found.high - found.low)[0, place] / 2 / np.std(path[0, :blocks], ddof=1)
        assert width == pytest.approx(expected, abs=0.011)


def test_all_intervals_together_cover():
    paths = np.random.default_rng(2).normal(0.3, 1, (4000, 60))
    found = confidence_sequence(paths)
    ever_missed = ((found.low > 0.3) | (found.high < 0.3)).any(axis=1)
    assert 0.01 < np.mean(ever_missed) <= 0.05


def test_running_values_are_those_of_each_beginning():
    path = np.random.default_rng(3).normal(0, 1, (2, 9))
    found, shorter = confidence_sequence(path), confidence_sequence(path[:, :7])
    assert found.blocks.tolist() == [5, 6, 7, 8, 9]
    np.testing.assert_allclose(found.low[:, :3], shorter.low)
    np.testing.assert_allclose(found.estimate[:, -1], path.mean(axis=1))


def test_no_look_without_blocks():
    with pytest.raises(ValueError, match="no look at 5 of 4"):
        confidence_sequence(np.zeros((1, 4)))
