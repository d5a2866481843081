"""Families judged look by look: what stops, with which evidence, and how often it is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import (
    DIFFERENT,
    EQUIVALENT,
    FUTILE,
    INVALID,
    UNDECIDED,
    FamilyRules,
    FamilyVerdicts,
    judge_family,
)
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.planning import blocks_needed
from tiltyard.stats.sequential import RepeatedInterval, Spending, looks

STANDARD = Spending("standard", False, looks("standard", False, None))
SELECTED = FamilyRules(np.log1p(0.02), benjamini_hochberg, 0.05, False, False, 0.2)
TOGETHER = replace(SELECTED, adjust=holm, together=True)
DECIDED = {DIFFERENT, EQUIVALENT}


def judge(
    paths: np.ndarray,
    rules: FamilyRules = SELECTED,
    failed: np.ndarray | None = None,
    to_come: int | None = None,
    spending: Spending = STANDARD,
    **own: np.ndarray,
) -> FamilyVerdicts:
    return judge_family(PairedBlocks(spending, paths, failed, **own), rules, to_come)


def mixed(seed: int, m: int = 30, blocks: int = 20) -> np.ndarray:
    """Half of the comparisons differ by 5 %, the others do not; noise of 2 %."""
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(m) < m // 2, np.log(1.05), 0.0)
    return rng.normal(truth[:, np.newaxis], 0.02, (m, blocks))


@pytest.mark.parametrize("rules", [SELECTED, TOGETHER])
@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_what_is_decided_stays_and_keeps_its_evidence(rules, seed):
    paths = mixed(seed)
    before = None
    for blocks in (7, 9, 10, 14, 20):
        found = judge(paths[:, :blocks], rules)
        if before is not None:
            stopped = np.isin(before.outcome, list(DECIDED))
            for name in ("outcome", "blocks", "estimate", "p"):
                kept, now = getattr(before, name), getattr(found, name)
                np.testing.assert_array_equal(kept[stopped], now[stopped])
            assert np.all(found.p_adjusted[stopped] <= before.p_adjusted[stopped])
        before = found


@pytest.mark.parametrize("rules", [SELECTED, TOGETHER])
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([7, 10, 14, 20]))
def test_interval_and_verdict_agree(rules, seed, blocks):
    found = judge(mixed(seed, blocks=blocks), rules)
    different = found.outcome == DIFFERENT
    beyond = (found.low >= 0) | (found.high <= 0)
    assert np.all(beyond[different])
    assert np.all(found.p_adjusted[different] <= 0.05)
    seen = found.blocks > 0
    assert np.all(found.low[seen] <= found.estimate[seen])
    assert np.all(found.estimate[seen] <= found.high[seen])
    equivalent = found.outcome == EQUIVALENT
    assert np.all(np.maximum(-found.low, found.high)[equivalent] < SELECTED.rope)


def test_levels_are_those_of_the_false_coverage_rate():
    found = judge(mixed(1))
    different = found.outcome == DIFFERENT
    assert different.sum() == 15
    assert found.level[different] == pytest.approx(1 - 0.05 * 15 / 30)
    assert found.level[~different] == pytest.approx(0.95)


def test_levels_of_intervals_that_hold_together_are_those_of_bonferroni():
    found = judge(mixed(2, m=6), TOGETHER)
    assert found.level == pytest.approx(1 - 0.05 / 6)


def test_holm_rejects_more_than_bonferroni_and_its_interval_ends_at_equality():
    """Two clear differences leave the third one alone: it is rejected at 5 %, not at 5 %/3."""
    clear = np.full((2, 10), 0.3) + np.random.default_rng(1).normal(0, 0.01, (2, 10))
    weak = np.array([[0.01, 0.02, -0.03, -0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1]])
    fixed = Spending("fixed", False, looks("fixed", False, 10))
    found = judge(np.vstack([clear, weak]), TOGETHER, spending=fixed)
    assert found.outcome.tolist() == [DIFFERENT] * 3
    assert 0.05 / 3 < found.p[2] <= 0.05
    assert found.low[2] == 0.0
    assert found.low[:2].min() > 0.2


def test_one_comparison_is_judged_alike_by_both_rules():
    paths = np.random.default_rng(3).normal(0.03, 0.03, (200, 20))
    for row in paths[:, np.newaxis, :]:
        one, other = judge(row), judge(row, TOGETHER)
        for name in ("outcome", "blocks", "low", "high", "p_adjusted", "level"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([SELECTED, TOGETHER]))
def test_swapping_the_sides_inverts_everything(seed, rules):
    paths = mixed(seed)
    forth, back = judge(paths, rules), judge(-paths, rules)
    np.testing.assert_array_equal(forth.outcome, back.outcome)
    np.testing.assert_array_equal(forth.low, -back.high)
    np.testing.assert_array_equal(forth.estimate, -back.estimate)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_of_comparisons_does_not_matter(seed, random):
    paths = mixed(seed)
    order = list(range(len(paths)))
    random.shuffle(order)
    plain, shuffled = judge(paths), judge(paths[order])
    for name in ("outcome", "blocks", "low", "high", "p"):
        np.testing.assert_array_equal(getattr(plain, name)[order], getattr(shuffled, name))


def test_a_block_without_a_difference_delays_a_look():
    paths = np.full((2, 8), 0.2) + np.random.default_rng(4).normal(0, 0.01, (2, 8))
    paths[0, 3] = np.nan
    failed = ~np.isfinite(paths)
    at_seven = judge(paths[:, :7], SELECTED, failed[:, :7])
    assert at_seven.blocks.tolist() == [0, 7]
    assert np.isnan(at_seven.p[0])
    assert judge(paths, SELECTED, failed).outcome.tolist() == [DIFFERENT] * 2


def test_too_many_failures_are_no_verdict_and_no_help_to_others():
    paths = np.full((2, 10), 0.2) + np.random.default_rng(5).normal(0, 0.01, (2, 10))
    paths[0, [0, 2, 4]] = np.nan
    found = judge(paths, SELECTED, ~np.isfinite(paths), to_come=4)
    assert found.outcome.tolist() == [INVALID, DIFFERENT]
    assert found.p_adjusted[0] == 1.0
    assert found.p_adjusted[1] == pytest.approx(2 * found.p[1])


def test_two_failures_in_the_first_seven_blocks_are_not_the_end():
    """They are 29 % of 7 blocks and 10 % of 20: nothing is claimed and nothing is closed."""
    paths = np.full((1, 14), 0.05) + np.random.default_rng(6).normal(0, 0.01, (1, 14))
    paths[0, [1, 4]] = np.nan
    failed = ~np.isfinite(paths)
    for blocks in (7, 9):
        found = judge(paths[:, :blocks], SELECTED, failed[:, :blocks])
        assert found.outcome.tolist() == [UNDECIDED]
    assert judge(paths, SELECTED, failed).outcome.tolist() == [DIFFERENT]
    ended = judge(paths[:, :9], SELECTED, failed[:, :9], to_come=0)
    assert ended.outcome.tolist() == [INVALID]


def test_failures_that_no_block_to_come_can_outweigh_are_the_end():
    paths = np.full((1, 8), 0.05)
    paths[0, :5] = np.nan
    assert judge(paths, SELECTED, ~np.isfinite(paths)).outcome.tolist() == [INVALID]


def test_the_last_look_takes_the_blocks_that_there_are():
    paths = np.random.default_rng(10).normal(0, 0.05, (1, 20))
    paths[0, 11] = np.nan
    failed = ~np.isfinite(paths)
    found = judge(paths, SELECTED, failed)
    assert found.blocks.tolist() == [19]
    whole = STANDARD.evidence(3, paths[:, np.isfinite(paths[0])])
    assert (found.low, found.high) == (whole.low, whole.high)
    waiting = judge(paths, SELECTED, failed, to_come=1)
    assert waiting.blocks.tolist() == [14]


@pytest.mark.parametrize("blocks", [16, 17, 18, 19])
def test_a_last_look_of_fewer_blocks_is_wrong_no_more_often(blocks):
    """At each number of blocks at most 5 % of equal systems are told apart, and not far fewer."""
    studies = 4000
    paths = np.random.default_rng(blocks).standard_t(3, (studies, 20))
    paths[:, blocks:] = np.nan
    # No correction: each row is a study of its own.
    rules = replace(SELECTED, adjust=lambda p: p)
    found = judge(paths, rules, np.isnan(paths))
    missed = np.mean(found.p <= 0.05)
    assert missed <= 0.05 + 3 * np.sqrt(0.05 / studies)
    assert missed >= 0.035
    assert set(found.blocks[found.p > 0.05]) <= {14, blocks}


def test_no_look_has_a_simultaneous_interval_that_is_none():
    """Of 15 comparisons no interval at 7 or 10 blocks holds together with the others."""
    paths = np.random.default_rng(11).normal(0, 0.03, (15, 20))
    assert judge(paths[:, :10], TOGETHER).blocks.tolist() == [0] * 15
    found = judge(paths[:, :14], TOGETHER)
    assert found.blocks.tolist() == [14] * 15
    assert found.level == pytest.approx(1 - 0.05 / 15)


@pytest.mark.parametrize("stopped", [7, 10, 14])
@pytest.mark.parametrize("systems", [3, 6])
def test_simultaneous_intervals_are_so_at_whichever_look_one_stops(systems, stopped):
    later, earlier = np.triu_indices(systems, 1)
    rng = np.random.default_rng(13)
    studies, missed = 400, 0
    for _ in range(studies):
        values = rng.normal(0, 0.03, (stopped, systems))
        found = judge((values[:, later] - values[:, earlier]).T, TOGETHER)
        missed += bool(np.any((found.low > 0) | (found.high < 0)))
    assert missed <= studies * (0.05 + 3 * np.sqrt(0.05 / studies))


def test_failures_after_a_verdict_do_not_take_it_back():
    paths = np.full((1, 14), 0.2) + np.random.default_rng(6).normal(0, 0.01, (1, 14))
    paths[0, 7:] = np.nan
    found = judge(paths, SELECTED, ~np.isfinite(paths))
    assert found.outcome.tolist() == [DIFFERENT]
    assert found.blocks.tolist() == [7]


def test_futility_gives_up_what_is_far_too_noisy_and_only_then():
    noisy = np.random.default_rng(7).normal(0, 0.3, (40, 20))
    near = np.random.default_rng(7).normal(0.04, 0.04, (40, 20))
    rules = replace(SELECTED, futility=True)
    given_up = judge(noisy, rules)
    assert np.mean(given_up.outcome == FUTILE) > 0.7
    assert set(given_up.blocks[given_up.outcome == FUTILE]) == {14}
    assert not np.any(judge(noisy[:, :13], rules).outcome == FUTILE)
    assert np.mean(judge(near, rules).outcome == FUTILE) <= 0.1
    assert not np.any(judge(noisy).outcome == FUTILE)


def test_selected_intervals_miss_no_more_often_than_the_rate():
    """95 % intervals of what was selected for being large would miss far more often."""
    rng = np.random.default_rng(9)
    missed, uncorrected = [], []
    for _ in range(120):
        truth = rng.normal(0, 0.012, 60)
        paths = rng.normal(truth[:, np.newaxis], 0.03, (60, 20))
        found = judge(paths)
        chosen = found.outcome == DIFFERENT
        if chosen.any():
            outside = (truth < found.low) | (truth > found.high)
            missed.append(outside[chosen].mean())
            plain = STANDARD.evidence(3, paths[chosen])
            uncorrected.append(((truth[chosen] < plain.low) | (truth[chosen] > plain.high)).mean())
    assert np.mean(missed) <= 0.05
    assert len(missed) > 60


@pytest.mark.parametrize("m", [3, 15])
def test_intervals_that_hold_together_do(m):
    rng = np.random.default_rng(10)
    systems = {3: 3, 15: 6}[m]
    later, earlier = np.triu_indices(systems, 1)
    studies, wrong, claims = 600, 0, 0
    for _ in range(studies):
        values = rng.normal(0, 0.03, (20, systems))
        found = judge((values[:, later] - values[:, earlier]).T, TOGETHER)
        wrong += bool(np.any((found.low > 0) | (found.high < 0)))
        claims += bool(np.any(found.outcome == DIFFERENT))
    limit = studies * (0.05 + 3 * np.sqrt(0.05 / studies))
    assert claims <= limit
    assert wrong <= limit


@pytest.mark.parametrize(
    ("rules", "false_share", "any_false", "power", "blocks"),
    [(SELECTED, 0.030, 0.68, 0.95, 12.0), (TOGETHER, 0.001, 0.043, 0.62, 16.3)],
)
def test_a_hundred_cells_are_judged_as_the_method_says(
    rules, false_share, any_false, power, blocks
):
    """60 equal cells, 20 that differ by 3 % and 20 by 10 %; trials deviate by 2 %."""
    rng = np.random.default_rng(12)
    rules = replace(rules, rope=np.log1p(0.01))
    truth = np.log(np.repeat([1.0, 1.03, 1.1], [60, 20, 20]))
    found = []
    for _ in range(80):
        judged = judge(rng.normal(truth[:, np.newaxis], 0.02 * np.sqrt(2), (100, 20)), rules)
        claims = judged.outcome == DIFFERENT
        wrong = claims[:60].sum()
        used = np.where(claims, judged.blocks, 20)[60:].mean()
        assert claims[80:].all()
        found.append((wrong / max(1, claims.sum()), wrong > 0, claims[60:80].mean(), used))
    shares = np.mean(found, axis=0)
    assert shares[0] == pytest.approx(false_share, abs=0.012)
    assert shares[1] == pytest.approx(any_false, abs=0.15)
    assert shares[2] == pytest.approx(power, abs=0.04)
    assert shares[3] == pytest.approx(blocks, abs=0.4)


def test_nothing_measured_is_undecided():
    found = judge(np.empty((3, 0)))
    assert found.outcome.tolist() == [UNDECIDED] * 3
    assert found.blocks.tolist() == [0] * 3


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.001, 0.03), st.booleans())
def test_what_bins_leave_open_is_in_intervals_and_in_verdicts(seed, off, adjusted):
    """As if all differences of a row lay off by as much, to whichever side."""
    paths = mixed(seed)
    own = np.random.default_rng(seed).normal(0, 0.001, (*paths.shape, 1)) if adjusted else None
    none, rounding = np.zeros(paths.shape, dtype=bool), np.full(len(paths), off)
    found = judge(paths, SELECTED, none, covariates=own, rounding=rounding)
    for row in np.flatnonzero(np.isin(found.outcome, list(DECIDED))):
        n, level = int(found.blocks[row]), 1 - found.level[row]
        place = [blocks for blocks, _ in STANDARD.looks].index(n)
        own_row = None if own is None else own[row : row + 1, :n]
        plain = STANDARD.evidence(place, paths[row : row + 1, :n], level, own_row)
        assert found.low[row] == pytest.approx(plain.low[0] - off)
        assert found.high[row] == pytest.approx(plain.high[0] + off)
        if found.outcome[row] == DIFFERENT:
            assert found.low[row] > 0 or found.high[row] < 0
        else:
            assert max(-found.low[row], found.high[row]) < SELECTED.rope


def test_a_difference_that_bins_can_make_is_none():
    """All blocks say 1 %, and each may lie off by as much: nothing is shown, 20 blocks or 7."""
    paths = np.full((1, 20), 0.01)
    none, rounding = np.zeros(paths.shape, dtype=bool), np.array([0.0157])
    assert judge(paths).outcome.tolist() == [EQUIVALENT]
    found = judge(paths, SELECTED, none, rounding=rounding)
    assert found.outcome.tolist() == [UNDECIDED]
    assert (found.low[0], found.high[0]) == pytest.approx((-0.0057, 0.0257))
    assert found.p.tolist() == [1.0]


def test_the_noise_of_bins_is_not_expected_to_shrink():
    """What is 3 % apart and known to 1.6 % is decided; what is 1 % apart never is."""
    far, near = (
        RepeatedInterval(20, at, at - 0.04, at + 0.04, 0.5, 0.95, 0.0157) for at in (0.03, 0.01)
    )
    needed = blocks_needed(STANDARD, [far, near], np.log1p(0.02), 0.05)
    as_exact = blocks_needed(STANDARD, [replace(far, rounding=0.0)], np.log1p(0.02), 0.05)
    assert needed[0] > as_exact[0]
    assert needed[1] is None
