import numpy as np
import pytest
from scipy.stats import rankdata

from tiltyard.stats.looks import FAMILY_LOOKS, FIRST_BY_T, TABULATED, shares_of
from tiltyard.stats.sequential import (
    LEVEL,
    LOOKS,
    STRICT_LOOKS,
    looks,
    overall_alpha,
    profile_of_family,
    repeated_interval,
    sequential_p,
    table_of,
)
from tiltyard.stats.sequential_table import make_table, simulate_p
from tiltyard.stats.signed_rank import attainable_p, nominal_p

PATHS = 100_000


@pytest.fixture(scope="module")
def fewer_paths():
    return make_table(PATHS, seed=99)["profiles"]


@pytest.mark.parametrize("profile", TABULATED)
def test_stored_table_agrees_with_a_fresh_simulation(profile, fewer_paths):
    stored, fresh = table_of(profile), fewer_paths[profile]
    np.testing.assert_allclose(stored.minimum_p, fresh["minimum_p"], rtol=1e-10)
    p = stored.sequential_p
    error = 5 * np.sqrt(p * (1 - p) / PATHS) + 2 / PATHS
    assert np.all(np.abs(p - fresh["sequential_p"]) <= error)
    assert stored.alpha == pytest.approx(fresh["alpha"], abs=5 * np.sqrt(LEVEL / PATHS))


def test_simulated_p_values_are_those_of_ranks():
    """An independent way: rank the magnitudes within each look, sum the ranks of one sign."""
    rng = np.random.default_rng(5)
    noise = rng.standard_cauchy((20_000, 14))
    by_rank = {}
    for n in (7, 10, 14):
        piece = noise[:, :n]
        positive = np.where(piece > 0, rankdata(np.abs(piece), axis=1), 0).sum(axis=1)
        smaller = np.minimum(positive, n * (n + 1) // 2 - positive).astype(int)
        by_rank[n] = attainable_p(n)[smaller]
    by_walsh = simulate_p(20_000, (7, 10, 14), seed=6)
    expected = np.stack(list(by_rank.values()), axis=1)
    for threshold in (0.02, 0.05, 0.2, 0.5):
        joint = [np.mean(p.min(axis=1) <= threshold) for p in (expected, by_walsh)]
        assert joint[0] == pytest.approx(joint[1], abs=5 * np.sqrt(0.5 * threshold / 20_000))


@pytest.mark.parametrize("profile", TABULATED)
def test_table_is_a_distribution_between_its_exact_bounds(profile):
    table = table_of(profile)
    assert np.all(np.diff(table.sequential_p) >= 0)
    assert table.sequential_p[-1] == 1.0
    by_t, shares = profile in FIRST_BY_T, shares_of(profile)
    single = [shares[0] * table.minimum_p] * by_t
    for (n, _), share in zip(TABULATED[profile][by_t:], shares[by_t:], strict=True):
        attained = np.concatenate([[0.0], attainable_p(n)])
        allowed = share * table.minimum_p * (1 + 1e-9)
        single.append(attained[np.searchsorted(attained, allowed, side="right") - 1])
    assert np.all(np.max(single, axis=0) * (1 - 1e-5) <= table.sequential_p)
    assert np.all(table.sequential_p <= np.minimum(1.0, np.sum(single, axis=0)) * (1 + 1e-5))


@pytest.mark.parametrize(
    ("profile", "alpha"),
    [("quick", 0.0472), ("standard", 0.0495), ("rigorous", 0.0500), ("fast", 0.0478),
     ("long", 0.0497), ("long-10", 0.0500)],
)  # fmt: skip
def test_overall_alpha_is_that_of_the_method(profile, alpha):
    assert overall_alpha(profile, False, None) == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("profile", STRICT_LOOKS)
def test_strict_levels_add_up_to_less_than_five_percent(profile):
    assert overall_alpha(profile, True, None) <= LEVEL
    assert [n for n, _ in STRICT_LOOKS[profile]] == [n for n, _ in LOOKS[profile]]


def test_strict_constants_are_those_of_the_method():
    assert overall_alpha("standard", True, None) == pytest.approx(0.0485, abs=5e-5)
    assert overall_alpha("rigorous", True, None) == pytest.approx(0.0493, abs=5e-5)


def test_sequential_p_of_the_method():
    # The method's own simulation gave .0416 and .0045 with 2 million paths.
    assert sequential_p("standard", 2 / 2**7) == pytest.approx(0.0416, abs=7e-4)
    assert sequential_p("standard", 2 / 2**10) == pytest.approx(0.0045, abs=5e-5)


@pytest.mark.parametrize("profile", sorted(TABULATED.keys() - FIRST_BY_T.keys()))
def test_all_looks_together_err_in_no_more_than_five_percent(profile):
    assert overall_alpha(profile, False, None) <= LEVEL + 5e-5


@pytest.mark.parametrize("profile", ["standard", "rigorous", "long"])
@pytest.mark.parametrize("comparisons", [1, 2, 3, 6, 12, 15, 28, 45, 100])
def test_a_family_looks_first_where_it_can_claim_beside_all_others(profile, comparisons):
    name = profile_of_family(profile, False, comparisons)
    known = {profile: LOOKS[profile], **FAMILY_LOOKS[profile]}
    for other, constants in known.items():
        alone = sequential_p(other, 2 / 2 ** constants[0][0])
        if other == name:
            assert alone <= LEVEL / comparisons or other == list(known)[-1]
            break
        assert alone > LEVEL / comparisons or comparisons == 1


def test_one_comparison_strict_constants_and_other_profiles_have_the_looks_of_the_profile():
    assert profile_of_family("standard", False, 1) == profile_of_family("standard", False, 0)
    assert looks(profile_of_family("standard", False, 1), False, None) == LOOKS["standard"]
    for asked in (("standard", True), ("quick", False), ("fixed", False)):
        assert profile_of_family(*asked, 15) == asked[0]
    assert [profile_of_family("standard", False, m) for m in (3, 15)] == [
        "standard-9", "standard-11",
    ]  # fmt: skip


def test_a_rejection_at_a_look_is_a_sequential_p_near_the_level_or_below():
    for profile, constants in LOOKS.items():
        for n, c in constants[profile in FIRST_BY_T :]:
            assert sequential_p(profile, nominal_p(n, c)) < 1.2 * LEVEL


@pytest.mark.parametrize(("blocks", "c"), [(6, 0), (7, 2), (10, 8), (20, 52)])
def test_fixed_profile_has_one_exact_look(blocks, c):
    assert looks("fixed", False, blocks) == ((blocks, c),)
    assert overall_alpha("fixed", False, blocks) == nominal_p(blocks, c)
    assert sequential_p("fixed", 0.0123) == 0.0123


def test_a_part_has_a_look_at_its_end():
    assert looks("fixed", False, 5) == ((5, 0),)


@pytest.mark.parametrize(
    ("profile", "blocks", "message"),
    [
        ("fixed", None, "needs a number of blocks"),
        ("hasty", None, "One of: quick, standard, rigorous, long, fast, fixed"),
    ],
)
def test_impossible_profiles_are_refused(profile, blocks, message):
    with pytest.raises(ValueError, match=message):
        looks(profile, False, blocks)


def test_interval_rests_on_the_latest_look_and_later_blocks_wait():
    differences = np.random.default_rng(3).normal(0.05, 0.02, 20)
    constants = looks("standard", False, None)
    assert repeated_interval(differences[:6], "standard", constants) is None
    at_ten = repeated_interval(differences[:10], "standard", constants)
    assert at_ten is not None
    assert at_ten.blocks == 10
    assert repeated_interval(differences[:13], "standard", constants) == at_ten


def test_sequential_p_never_grows_from_look_to_look():
    constants = looks("rigorous", False, None)
    for seed in range(20):
        differences = np.random.default_rng(seed).normal(0.02, 0.03, 30)
        found = [repeated_interval(differences[:n], "rigorous", constants) for n, _ in constants]
        p_values = [interval.p for interval in found if interval]
        assert len(p_values) == len(constants)
        assert p_values == sorted(p_values, reverse=True)
