"""The simulated error rates: those of the method, those of the document, and what is held to."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from simulation import comparisons, document, simulate, with_section
from simulation.change_points import change_points
from simulation.cpu_times import cpu_rates
from simulation.designs import DESIGNS, STANDARD, outcome
from simulation.failures import FAILING, SPARES, failure_rates
from simulation.families import PROCEDURES, family_rates
from simulation.growth import SCALES, growth_rates
from simulation.headlines import (
    differences_of,
    excluded,
    headline_rates,
    power_rates,
    spending_of,
)
from simulation.ladder import LAWS as LAWS_OF_LADDERS
from simulation.ladder import ladder_laws, ladder_power
from simulation.laws import LAWS, law_rates
from simulation.others import RULES, times_faster, trials_until_small
from simulation.rates import EFFECTS, Rates, rates
from simulation.scenarios import NOISIEST, SCENARIOS, paired
from simulation.sections import SECTIONS
from simulation.studies import study_rates
from simulation.watching import DEPENDENT, watched_rates
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, FamilyRules, judge_family
from tiltyard.stats.looks import FIRST_BY_T, LEVEL, TABULATED, shares_of
from tiltyard.stats.multiple import holm
from tiltyard.stats.sequential import LOOKS, table_of
from tiltyard.stats.signed_rank import largest_c, signed_rank
from tiltyard.stats.welch import moments

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/error-rates.md"
PATHS = 20_000

# The method's own simulation of the standard profile, of other code: equivalence proved and blocks
# of equal systems; power and blocks at 2, 5 and 10 %.
METHOD = {
    "normal, CV 1 %": (44, 18.5, (100, 8.8), (100, 7.0), (100, 7.0)),
    "normal, CV 3 %": (0, 19.6, (39, 17.7), (99, 10.2), (100, 7.3)),
    "normal, CV 10 %": (0, 19.6, (7, 19.4), (23, 18.6), (69, 15.5)),
    "drift, −0.25 % each trial": (41, 18.6, (100, 8.9), (100, 7.0), (100, 7.0)),
    "wander, AR(1) 3 %": (16, 19.3, (99, 10.1), (100, 7.0), (100, 7.0)),
    "one step of −5 %": (37, 18.7, (100, 9.2), (100, 7.1), (100, 7.0)),
    "burst, 4 trials −20 %": (32, 18.7, (98, 9.7), (100, 7.8), (100, 7.8)),
    "bimodal, 30 % of trials −10 %": (0, 19.6, (33, 17.6), (61, 15.7), (100, 10.2)),
    "stalls, 10 % of trials": (6, 19.4, (80, 13.2), (94, 10.3), (99, 9.0)),
    "heavy tails, Student t₂": (3, 19.5, (83, 13.5), (100, 8.3), (100, 7.3)),
}
# False claims of the rules of others in the method's simulation, the last in one of other code, %.
OTHERS = {
    "normal, CV 1 %": (25.7, 25.7, 4.9, 0.1),
    "normal, CV 3 %": (25.6, 35.1, 4.8, 0.2),
    "normal, CV 10 %": (25.5, 22.1, 4.5, 0.3),
    "drift, −0.25 % each trial": (39.3, 39.4, 99.8, 59.8),
    "wander, AR(1) 3 %": (None, 43.6, 49.1, 20.5),
    "one step of −5 %": (None, 29.6, 23.2, 11.5),
    "burst, 4 trials −20 %": (None, 33.6, 25.4, 0.04),
    "bimodal, 30 % of trials −10 %": (29.3, 52.2, 4.5, 0.3),
    "stalls, 10 % of trials": (None, 31.7, 1.4, 0.02),
    "heavy tails, Student t₂": (None, 26.6, 3.3, 0.03),
}


@pytest.fixture(scope="module")
def standard() -> dict[str, Rates]:
    found = rates(PATHS, seed=7, designs=[STANDARD], rules=[])
    return {one.scenario: one for one in found}


@pytest.fixture(scope="module")
def others() -> dict[tuple[str, str], Rates]:
    found = rates(2000, seed=8, designs=[], rules=RULES)
    return {(one.scenario, one.design): one for one in found}


def test_ten_scenarios():
    assert [scenario.name for scenario in SCENARIOS] == list(METHOD)


@pytest.mark.parametrize("scenario", METHOD)
def test_false_claims_and_coverage_of_the_standard_profile_are_within_bounds(scenario, standard):
    assert 0.042 <= standard[scenario].false <= 0.055
    assert 0.945 <= standard[scenario].covered <= 0.958


@pytest.mark.parametrize("scenario", METHOD)
def test_power_equivalence_and_blocks_are_those_of_the_method(scenario, standard):
    found = standard[scenario]
    equivalent, blocks, *at = METHOD[scenario]
    assert 100 * found.equivalent == pytest.approx(equivalent, abs=2)
    assert found.blocks == pytest.approx(blocks, abs=0.15)
    for effect, (power, needed) in zip(found.at, at, strict=True):
        assert 100 * effect.found == pytest.approx(power, abs=2)
        assert effect.blocks == pytest.approx(needed, abs=0.2)


@pytest.mark.parametrize("scenario", METHOD)
def test_the_wrong_sign_is_rare(scenario, standard):
    """Where 2 % is a seventh of a block's deviation a claim is chance; half of chance is wrong."""
    for at in standard[scenario].at:
        hopeless = (scenario, at.effect) == (NOISIEST.name, EFFECTS[0])
        assert at.wrong <= (0.0125 if hopeless else 0.005)


@pytest.mark.parametrize("scenario", OTHERS)
def test_others_are_wrong_as_often_as_in_the_method(scenario, others):
    for rule, expected in zip(RULES, OTHERS[scenario], strict=True):
        if expected is not None:
            error = 4 * np.sqrt(expected / 100 * (1 - expected / 100) / 2000)
            found = others[scenario, rule.name].false
            assert found == pytest.approx(expected / 100, abs=error + 0.004)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_intervals_cover_true_differences_at_stopping(design):
    rng = np.random.default_rng(9)
    differences = paired(SCENARIOS[1].draw(rng, 2000), rng)
    bounds = design.bounds(differences)
    for effect in EFFECTS:
        found = outcome(bounds, float(np.log1p(effect)), 0.01)
        assert np.mean(found.covered) > 0.955


def test_outcomes_are_those_of_the_intervals_of_moved_data():
    """The shortcut of moving the bounds instead of the data."""
    rng = np.random.default_rng(10)
    differences = paired(SCENARIOS[1].draw(rng, 40), rng)
    effect, rope = 0.03, 0.01
    found = outcome(STANDARD.bounds(differences), effect, rope)
    for path, row in enumerate(differences + effect):
        for n, c in LOOKS["standard"]:
            one = signed_rank(row[:n], c)
            inside = -rope < one.low and one.high < rope
            if inside or one.low > 0 or one.high < 0:
                break
        expected = 0 if inside else int(one.low > 0) - int(one.high < 0)
        assert (found.blocks[path], found.claim[path]) == (n, expected)
        assert found.covered[path] == (one.low <= effect <= one.high)


@pytest.mark.parametrize(
    ("values", "trials"),
    [
        ([1.0] * 15, 3),
        ([1.0, 1.0, 1.2] + [1.1] * 12, 12),  # noisy, and much calmer at the twelfth: no more
        ([0.9, 1.0, 1.1, 0.9] + [1.0, 1.1, 0.9] * 3 + [1.0, 1.1], 15),  # as noisy as ever: on
        ([1.0, 1.03, 0.97] + [1.0] * 12, 4),
    ],
)
def test_trials_until_the_deviation_is_small(values, trials):
    assert trials_until_small(np.array([values])).tolist() == [trials]


RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize("run", json.loads((RECORDED / "hyperfine.json").read_text()))
def test_times_faster_is_what_hyperfine_prints(run):
    first, second = (moments(np.array([run[side]])) for side in ("first_s", "second_s"))
    (ratio,), (error,) = times_faster(first, second)
    assert f"{ratio:.2f} ± {error:.2f}" == run["printed"]


@pytest.mark.parametrize("run", json.loads((RECORDED / "otava.json").read_text()))
def test_change_points_are_those_that_otava_reports(run):
    """Otava 0.8.0 with its defaults; "neighbour" are series that tell which p-values it renews."""
    assert change_points(np.array(run["series"])) == run["change_points"]


def test_a_series_that_never_changes_alarms_a_detector_and_no_design_of_ours():
    found = {one.law: one for one in watched_rates(120, seed=16)}
    assert found[DEPENDENT].once > 0.5
    for one in found.values():
        assert one.each > one.once
        for share in one.ours.values():
            assert binom.sf(round(share * 120) - 1, 120, 0.05) > 1e-4


def test_noise_that_grows_breaks_the_standard_constants_a_little_and_the_strict_ones_never():
    found = {one.scale: one for one in growth_rates(8000, seed=11)}
    assert list(found) == list(SCALES)
    assert found["constant"].standard == pytest.approx(0.0495, abs=0.008)
    assert found["grows 100 times"].standard == pytest.approx(0.057, abs=0.008)
    assert all(one.strict <= 0.0485 for one in found.values())


def test_only_the_fast_profile_depends_on_the_law_of_the_noise():
    found = {one.law: one.false for one in law_rates(4000, seed=15)}
    assert list(found) == list(LAWS)
    error = 4 * np.sqrt(0.05 * 0.95 / 4000)
    for law, false in found.items():
        for design in ("quick", "standard", "standard, strict", "rigorous"):
            assert false[design] <= 0.0505 + error, (law, design)
    # The method's figure for two points.
    assert found["two points and 1 %"]["fast, retired"] == pytest.approx(0.086, abs=error)
    # Why it is retired: a cold start, and a host that swings with the blocks.
    assert found["first turn of a block 5 % slower"]["fast, retired"] > 0.075
    assert found["a sine of one block"]["fast, retired"] > 0.06
    assert found["normal"]["fast, retired"] == pytest.approx(0.0478, abs=error)


@pytest.mark.parametrize("law", LAWS_OF_LADDERS)
def test_a_long_ladder_errs_as_rarely_as_the_standard_one(law):
    found = ladder_laws(law, 2000, np.random.default_rng(20))
    error = 4 * np.sqrt(0.05 * 0.95 / 2000)
    for design in ("standard", "long"):
        assert found.false[design] <= LEVEL + error
        assert found.covered[design] >= 1 - LEVEL - error


def test_a_long_ladder_finds_what_twenty_blocks_cannot_and_stops_early_at_what_is_clear():
    every = ladder_power(1000, np.random.default_rng(21))
    found = {(one.difference, one.noise): one for one in every}
    hard, noisy, clear = found[0.02, 0.03], found[0.05, 0.10], found[0.05, 0.02]
    assert hard.found["standard"] < 0.45
    assert hard.found["long"] > 0.95
    assert noisy.found["standard"] < 0.30
    assert noisy.found["long"] > 0.78
    assert clear.blocks["long"] < 10
    assert 0.25 < hard.early < hard.found["standard"]


@pytest.mark.parametrize("profile", [name for name in TABULATED if name not in FIRST_BY_T])
def test_constants_are_the_largest_that_the_joint_law_allows(profile):
    """C3: the looks share one level, the largest whose joint error rate is at most 5 %."""
    table = table_of(profile)
    allowed = table.minimum_p[table.sequential_p <= 0.05]
    looks = TABULATED[profile]
    assert [c for _, c in looks] == [
        largest_c(n, share * allowed[-1] * (1 + 1e-9))
        for (n, _), share in zip(looks, shares_of(profile), strict=True)
    ]


def test_failed_trials_claim_nothing_and_spares_make_up_for_them():
    found = {(one.failing, one.spares): one for one in failure_rates(100, seed=17)}
    assert set(found) == {(failing, spares) for failing in FAILING for spares in (0, SPARES)}
    for one in found.values():
        for share in (one.false, one.missed):
            assert binom.sf(round(share * 100) - 1, 100, 0.05) > 1e-4
    assert found[0.15, SPARES].found > found[0.15, 0].found


@pytest.fixture(scope="module")
def headlines():
    return headline_rates(1500, seed=16)


def test_headlines_miss_in_no_more_families_than_allowed_at_any_look_on_any_host(headlines):
    assert {found.systems for found in headlines} == {3, 4, 6}
    error = 4 * np.sqrt(LEVEL * (1 - LEVEL) / 1500)
    for found in headlines:
        assert 0.02 < max(found.missed.values()) < LEVEL + error, found
        assert list(found.missed.values()) == sorted(found.missed.values())


@pytest.mark.parametrize("systems", [3, 6])
def test_headlines_of_the_simulation_are_those_of_real_families(systems):
    rng = np.random.default_rng(17)
    differences = differences_of(SCENARIOS[7], systems, 60, rng)
    differences[:30, 0] += 0.2
    pairs = differences.shape[1]
    spending = spending_of(pairs)
    rules = FamilyRules(0.0, holm, LEVEL, True, False, 1.0)
    for family in differences:
        judged = judge_family(PairedBlocks(spending, family), rules)
        first = excluded(spending, family, LEVEL / pairs).any()
        assert first == (judged.outcome == DIFFERENT).any()


def test_families_find_no_less_by_their_own_looks_and_plain_differences_sooner():
    found = {one.comparisons: one for one in power_rates(4000, seed=18)}
    assert found[1].looks == (7, 10, 14, 20)
    for size, one in found.items():
        assert one.blocks == pytest.approx(one.looks[0], abs=0.2)
        assert one.blocks < one.blocks_before or size == 1
        assert one.last > one.last_before + 0.02 or size == 1
        if size <= 15:
            assert one.alone > one.alone_before - 0.02


def test_families_keep_what_each_correction_promises():
    found = {(one.family.cells, one.procedure): one for one in family_rates(60, seed=14)[-3:]}
    afterwards, by_rate, holm = (found[20, name] for name in PROCEDURES)
    assert by_rate.false_discoveries <= 0.05
    assert by_rate.missed <= 0.05, "false coverage rate of the intervals shown"
    assert holm.any_false <= 0.05 + 2.5 * np.sqrt(0.05 / 60)
    assert afterwards.found_small < 0.1 < 0.9 < by_rate.found_small
    assert holm.found_small < by_rate.found_small
    assert by_rate.found_large == holm.found_large == 1.0


def test_studies_of_equal_systems_name_a_winner_no_more_often_than_allowed():
    found = study_rates(40, seed=12)
    for share in (found.winner, found.any_cell):
        assert binom.sf(round(share * found.studies) - 1, found.studies, 0.05) > 0.001


def test_cpu_time_beside_the_clock_errs_as_rarely_and_takes_nothing_from_it():
    for correlation in (0.0, 0.9):
        equal = cpu_rates((0.0, 0.0), correlation, 1000, np.random.default_rng(22))
        for share, bound in ((equal.time, LEVEL), (equal.cpu, LEVEL), (equal.either, 2 * LEVEL)):
            assert binom.sf(round(share * equal.studies) - 1, equal.studies, bound) > 0.001
    waits = cpu_rates((0.05, 0.0), 0.5, 1000, np.random.default_rng(23))
    both = cpu_rates((0.02, 0.02), 0.5, 1000, np.random.default_rng(24))
    assert binom.sf(round(waits.cpu * waits.studies) - 1, waits.studies, LEVEL) > 0.001
    assert waits.both < waits.time, "one family of both would cost the clock"
    assert both.cpu > 0.9 > 0.3 > both.time
    assert both.cpu_blocks < both.time_blocks / 2


@pytest.fixture(scope="module")
def rerun():
    return simulate(200, seed=13)


def test_the_document_is_what_the_command_writes_but_for_its_figures(rerun):
    figures = re.compile(r"\d[\d,.]*")
    written, again = DOCUMENT.read_text("utf-8"), document(rerun)
    assert figures.sub("#", written) == figures.sub("#", again)


def test_one_section_is_written_anew_and_the_others_stay(rerun):
    """Also one that the document does not have yet; its rows of the summary with it."""
    written, section = document(rerun), next(one for one in SECTIONS if one.name == "gate")
    own, rows = section.told(rerun.found["gate"]).strip(), section.lines(rerun.found["gate"])
    without = written.replace(f"{own}\n\n", "")
    for row in rows:
        without = without.replace(f"| {row.what} | {row.bound} | {row.here} |\n", "")
    assert without.count("\n") == written.count("\n") - own.count("\n") - 2 - len(rows)
    for before in (written, without):
        assert with_section(before, "gate", 200, 13) == written
    with pytest.raises(ValueError, match="not in the document"):
        with_section(written.replace("## The gate", "## Another"), "growth", 200, 13)


@pytest.fixture(scope="module")
def compared():
    return comparisons.SECTION.run(1000, 13)


def grid(text: str, heading: str) -> dict[tuple[str, str], float]:
    """The first table under a heading: (host, design) → share."""
    _, _, section = text.partition(f"\n## {heading}, %\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        (row[0], design): float(cell) / 100
        for row in rows
        for design, cell in zip(head[1:], row[1:], strict=True)
    }


@pytest.mark.parametrize(
    ("heading", "field"),
    [("Equal systems: false claims", "false"),
     ("Equal systems: intervals that hold the truth", "covered")],
)  # fmt: skip
def test_figures_of_the_document_are_those_of_a_smaller_rerun(heading, field, compared):
    written = grid(DOCUMENT.read_text("utf-8"), heading)
    assert len(written) == len(SCENARIOS) * (len(RULES) + len(DESIGNS))
    for (scenario, design), share in written.items():
        again = getattr(compared.of(scenario, design), field)
        error = 4.5 * np.sqrt(max(share * (1 - share), 0.002) / 1000)
        assert again == pytest.approx(share, abs=error), (scenario, design)


def test_a_section_finds_the_same_whatever_others_there_are_and_in_how_many_processes(rerun):
    by_name = {section.name: section for section in SECTIONS}
    assert len(by_name) == len(SECTIONS), "names give each section a stream of its own"
    assert by_name["growth"].run(200, 13) == rerun.found["growth"] != by_name["growth"].run(200, 14)
    assert document(simulate(20, 13, jobs=2)) == document(simulate(20, 13))


def test_the_same_seed_gives_the_same_figures():
    first, again, other = (rates(200, seed, SCENARIOS[:2]) for seed in (1, 1, 2))
    assert first == again != other
