"""How often are there sentences where nothing is to be found, and how often are facts found?

Acceptance C6 of the method: at most 5 % of reports on equal things hold any sentence, and at least
90 % of planted facts are told at the smallest number of blocks of their kind.
"""

import numpy as np
import pytest
from scipy.stats import binom

from support.observed import FILES, RECORDS, findings_of, observations_of

REPORTS = 134
FACTS = 30


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0, 0.03, shape)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t of 3 degrees of freedom."""
    return 0.02 * rng.standard_t(3, shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Lognormal; values are its exponential, so their tail is heavier still."""
    return 0.03 * np.exp(0.5 * rng.normal(size=shape))


def autoregression(rng: np.random.Generator, rho: float, blocks: int) -> np.ndarray:
    """Stationary from the first block on, of deviation 1."""
    wander = rng.normal(size=blocks)
    wander[1:] *= (1 - rho**2) ** 0.5
    for block in range(1, blocks):
        wander[block] += rho * wander[block - 1]
    return wander


@pytest.mark.parametrize("noise", [gaussian, heavy_tailed, skewed])
def test_reports_on_equal_things_say_nothing(noise):
    """Two or three equal systems, levels without effect, half of the noise shared by a trial."""
    rng = np.random.default_rng(31)
    speaking = 0
    for report in range(REPORTS):
        systems = 2 + (report % 3 == 0)
        own = noise(rng, (20, systems, 4))
        logs = own + (noise(rng, (20, systems, 1)) if report % 2 else 0)
        speaking += bool(observations_of(logs, RECORDS[:4]))
    assert binom.sf(speaking - 1, REPORTS, 0.05) > 0.001


def test_an_effect_of_each_block_is_neither_a_step_nor_a_drift():
    """Blocks are the unit: trials of one block share what the host did to it."""
    rng = np.random.default_rng(32)
    speaking = 0
    for report in range(REPORTS):
        systems, blocks = 2 + 2 * (report % 2), 12 + 8 * (report // 2 % 2)
        own = rng.normal(0, 0.01, (blocks, systems, 1)) + rng.normal(0, 0.05, (blocks, 1, 1))
        findings = findings_of(own, RECORDS[:1])
        told = {one.kind for one in findings.workloads[0].observations}
        drifted = any("rose" in one.sentence or "fell" in one.sentence for one in findings.drifts)
        speaking += bool(told & {"step", "drift"}) or drifted
    assert binom.sf(speaking - 1, REPORTS, 0.05) > 0.001


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("blocks", [12, 20, 40])
def test_noise_that_lasts_from_block_to_block_is_neither_a_step_nor_a_drift(rho, blocks):
    """Stationary series; orders of them are not equally likely."""
    rng = np.random.default_rng(33)
    reports, speaking = 40, 0
    for _ in range(reports):
        wander = autoregression(rng, rho, blocks)
        own = rng.normal(0, 0.005, (blocks, 2, 1)) + 0.05 * wander[:, None, None]
        findings = findings_of(own, RECORDS[:1])
        told = {one.kind for one in findings.workloads[0].observations}
        drifted = any("rose" in one.sentence or "fell" in one.sentence for one in findings.drifts)
        speaking += bool(told & {"step", "drift"}) or drifted
    assert binom.sf(speaking - 1, reports, 0.05) > 0.001


@pytest.mark.parametrize("blocks", [20, 40])
def test_noise_that_lasts_does_not_grow(blocks):
    """Of one system alone, so it is in the differences; by permutation it grew in a third."""
    rng = np.random.default_rng(34)
    reports, speaking = 60, 0
    for _ in range(reports):
        own = rng.normal(0, 0.005, (blocks, 2, 1))
        own[:, 1, 0] += 0.05 * autoregression(rng, 0.9, blocks)
        notices = findings_of(own, RECORDS[:1]).notices
        speaking += any(one.text.startswith("The noise of") for one in notices)
    assert binom.sf(speaking - 1, reports, 0.05) > 0.001


def test_noise_that_grows_tenfold_is_told_in_forty_blocks():
    rng, told = np.random.default_rng(35), 0
    for _ in range(FACTS):
        own = rng.normal(0, 0.01, (40, 2, 1)) * np.geomspace(1, 10, 40)[:, None, None]
        notices = findings_of(own, RECORDS[:1]).notices
        told += any("grew during the session" in one.text for one in notices)
    assert told >= 0.7 * FACTS


FALLING = np.array([0, 0, 0, -1.4, -1.4, -1.4])
RISING = np.log(2) * np.arange(5) / 4


def share_told(kind: str, plant, levels=RECORDS, axis="record", metrics=("read",)) -> float:
    """Of seeded studies with a planted fact, those in which it is told."""
    found = 0
    for seed in range(FACTS):
        logs = plant(np.random.default_rng(seed))
        told = observations_of(logs, levels, axis, metrics)
        found += kind in {one.kind for one in told}
    return found / FACTS


def test_doublings_are_found_in_seven_blocks():
    def plant(rng):
        return rng.normal(0, 0.03, (7, 2, 5)) + RISING

    assert share_told("growth", plant) >= 0.9


PLATEAU = np.array([0, 1.5, 1.5, 1.5, 1.5])


@pytest.mark.parametrize(("kind", "noise"), [("growth", 0.1), ("peak", 0.1)])
def test_one_step_is_neither_growth_nor_a_peak(kind, noise):
    """Both are claims on several steps, of which all but one are equal here."""
    planted = lambda rng: rng.normal(0, noise, (9, 2, 5)) + PLATEAU  # noqa: E731
    assert share_told(kind, planted) <= 0.1


def test_flat_courses_are_found_in_five_blocks_at_one_percent_noise_beside_a_cliff():
    def plant(rng):
        return rng.normal(0, 0.01, (5, 2, 12)) + np.concatenate([np.zeros(6), FALLING])

    assert share_told("insensitive", plant, FILES, "file", ("write", "read")) >= 0.9


def test_cliffs_are_found_in_five_blocks_at_five_percent_noise():
    def plant(rng):
        return rng.normal(0, 0.05, (5, 2, 6)) + FALLING

    assert share_told("cliff", plant, FILES, "file") >= 0.9


def test_two_modes_are_found_in_thirty_blocks():
    def plant(rng):
        logs = rng.normal(0, 0.01, (30, 2, 1))
        logs[rng.permutation(30)[:15], 0] -= 0.08
        return logs

    assert share_told("bimodal", plant, RECORDS[:1]) >= 0.9


def test_drifts_are_found_in_eighteen_blocks():
    """A quarter of a percent from trial to trial, at one percent noise: fewer might wander so."""

    def plant(rng):
        slots = np.arange(18)[:, None, None] * 2
        return rng.normal(0, 0.01, (18, 2, 1)) - 0.0025 * slots

    assert share_told("drift", plant, RECORDS[:1]) >= 0.9


def test_steps_are_found_in_fourteen_blocks():
    """Five percent at a random place between the fifth block and the tenth."""

    def plant(rng):
        after = np.arange(14)[:, None, None] >= rng.integers(5, 10)
        return rng.normal(0, 0.01, (14, 2, 1)) - 0.05 * after

    assert share_told("step", plant, RECORDS[:1]) >= 0.9
