"""Groups that lie apart from the others."""

import numpy as np
import pytest

from tiltyard.stats.outlying_groups import outlying_groups


def groups(*means: float, n: int = 4, spread: float = 0.01) -> list[np.ndarray]:
    own = spread * np.array([-1.0, 1.0] * (n // 2))
    return [mean + own for mean in means]


def test_one_odd_group_does_not_make_the_others_odd():
    [found] = outlying_groups(groups(0, 0, 1, 0), 0.0, 0.05)
    assert (found.group, found.mean, found.others, found.turned) == (2, 1.0, 0.0, False)
    assert found.low == pytest.approx(2 - found.high)
    # Student's t of 12 degrees of freedom at 5 % over four groups, by its table: 2.934.
    error = 0.01 * np.sqrt(4 / 3) * np.sqrt(1 / 4 + 1 / 12)
    assert found.high - 1 == pytest.approx(2.934 * error, rel=1e-3)


def test_the_surest_is_the_first_and_half_are_named_at_most():
    found = outlying_groups(groups(0, 3, 0, 1, 2), 0.0, 0.05)
    assert [one.group for one in found] == [1, 4]
    assert found[0].others == pytest.approx(1 / 3)


def test_a_difference_within_the_margin_is_none():
    assert not outlying_groups(groups(0, 0, 0.05), 0.05, 0.05)
    assert outlying_groups(groups(0, 0, 0.05), 0.01, 0.05)


def test_a_noisy_group_is_held_against_its_own_noise():
    noisy = [*groups(0, 0, 0, 0), *groups(0.3, spread=0.2)]
    assert not outlying_groups(noisy, 0.0, 0.05)


def test_it_is_turned_where_both_lie_beyond_zero():
    assert outlying_groups(groups(1, 1, -1), 0.0, 0.05)[0].turned
    assert not outlying_groups(groups(1, 1, 0), 0.0, 0.05)[0].turned
    assert not outlying_groups(groups(2, 2, 1), 0.0, 0.05)[0].turned


def test_nothing_is_known_of_one_group_or_without_repetition():
    assert not outlying_groups(groups(1), 0.0, 0.05)
    assert not outlying_groups([np.zeros(1), np.ones(1)], 0.0, 0.05)
    [found] = outlying_groups([*groups(0, 0), np.ones(1)], 0.0, 0.05)
    assert found.group == 2
