"""What is said of a metric along an axis: planted courses at their smallest number of blocks."""

import numpy as np
import pytest
from msgspec.structs import replace

from support.observed import FILES, RECORDS, observations_of, observed_study, of_kind
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.quantity import collect
from tiltyard.analysis.statements.evidence import MOST_LEVELS, courses
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import Samples

NOISE = 0.01
FLAT = np.zeros(5)
GROWING = np.log(2) * np.arange(5) / 4


def logs(blocks: int, *courses: np.ndarray, systems: int = 1, seed: int = 1) -> np.ndarray:
    """Courses beside each other, one a metric, the same for all systems."""
    course = np.concatenate(courses)
    noise = np.random.default_rng(seed).normal(0, NOISE, (blocks, max(2, systems), len(course)))
    return course + noise


def test_a_doubling_is_named_with_its_interval_and_its_steps():
    (told,) = observations_of(logs(7, GROWING))
    assert told.kind == "growth"
    assert set(told.systems) == {"a", "b"}
    assert told.blocks == 7
    assert "grid read: doubles from 4 KiB to 1 MiB record on" in told.sentence
    assert "×, 7 blocks): it rises at each of 4 steps, by 18." in told.sentence
    assert told.sentence.endswith("×).")
    assert "one-sided paired t of each step against 2 %" in told.evidence


def test_a_rise_that_is_not_a_plain_factor_has_its_number():
    (told,) = observations_of(logs(7, 0.8 * GROWING))
    assert "rises by 7" in told.sentence


@pytest.mark.parametrize(
    ("axis", "reach"),
    [("depth", "from depth 1 to 16"), ("threads", "from 1 to 16 threads")],
)
def test_levels_are_told_as_one_says_them(axis, reach):
    (told,) = observations_of(logs(7, GROWING), (1, 2, 4, 8, 16), axis)
    assert f"grid read: doubles {reach} on" in told.sentence


def test_a_fall_is_named_too():
    (told,) = observations_of(logs(7, -GROWING))
    assert "halves from 4 KiB to 1 MiB" in told.sentence
    assert "it falls at each of 4 steps, by 15." in told.sentence


def test_a_course_that_turns_back_says_which_of_its_steps_do():
    (told,) = observations_of(logs(7, np.array([0.0, 0.5, 0.3, 0.6, 0.7])))
    assert told.kind == "change"
    assert (
        "it rises from 4 KiB to 16 KiB record, falls from 16 KiB to 64 KiB record and rises from "
        "64 KiB to 1 MiB record"
    ) in told.sentence


ONE_STEP = np.log([0.149, 2.386, 2.385])
THREE = RECORDS[::2]


@pytest.mark.parametrize(("noise", "kind"), [(0.01, "saturation"), (0.1, "change")])
def test_one_step_and_then_nothing_is_no_growth_whatever_the_noise(noise, kind):
    steps = ONE_STEP + np.random.default_rng(3).normal(0, noise, (9, 2, 3))
    told = observations_of(steps, THREE)
    assert {one.kind for one in told} == {kind}
    assert all("each of" not in one.sentence for one in told)
    if kind == "change":
        end = "it rises from 4 KiB to 64 KiB record; no change is shown in the other step"
        assert all(end in one.sentence for one in told)


@pytest.mark.parametrize(("sign", "verb"), [(1, "peaks"), (-1, "is lowest")])
def test_a_peak_between_the_ends_is_named(sign, verb):
    (told,) = observations_of(logs(9, sign * np.array([0.0, 0.25, 0.15])), THREE)
    assert told.kind == "peak"
    assert f"grid read: {verb} at 64 KiB record on" in told.sentence
    assert "from 4 KiB to 64 KiB record" in told.sentence
    assert "from 64 KiB to 1 MiB record" in told.sentence


def test_a_peak_that_is_a_plateau_is_somewhere_on_it():
    values = np.tile([0.0, 0.9, 0.9, 0.9, 0.7], (10, 2, 1))
    values[::2] += 0.01 * np.arange(5)
    values[1::2] -= 0.01 * np.arange(5)
    (told,) = of_kind(observations_of(values), "peak")
    assert "peaks somewhere from 16 KiB to 256 KiB record" in told.sentence


def test_a_rise_within_the_region_of_equivalence_is_not_told():
    assert observations_of(logs(20, GROWING / 40)) == ()


def test_a_flat_course_alone_is_no_news():
    assert observations_of(logs(7, FLAT, FLAT), metrics=("write", "read")) == ()


def test_a_flat_course_is_news_beside_one_that_moves():
    told = observations_of(logs(7, FLAT, GROWING), metrics=("write", "read"))
    (flat,) = of_kind(told, "insensitive")
    assert flat.metric == "write"
    assert "insensitive to record size from 4 KiB to 1 MiB record" in flat.sentence
    assert "same within ±5 %" in flat.sentence
    assert (flat.p, flat.p_adjusted) == (None, None)


def test_noise_is_not_taken_for_sameness():
    noisy = logs(7, FLAT, GROWING)
    noisy[:, :, :5] += np.random.default_rng(2).normal(0, 0.1, (7, 2, 5))
    told = observations_of(noisy, metrics=("write", "read"))
    assert of_kind(told, "insensitive") == []


def test_saturation_says_where_and_after_what():
    (told,) = observations_of(logs(7, np.log([1.0, 1.5, 2.5, 2.5, 2.5])))
    assert told.kind == "saturation"
    assert "saturates at 64 KiB record" in told.sentence
    assert "rises to 2.5" in told.sentence
    assert "stays within 5 % from 64 KiB to 1 MiB record" in told.sentence


CLIFF = np.array([0.0, 0.0, 0.0, -1.9, -1.9, -1.9])


def test_a_cliff_with_its_place_and_plateaus():
    (told,) = observations_of(logs(5, CLIFF), FILES, "file")
    assert told.kind == "cliff"
    assert "cliff from 1 GiB to 2 GiB file" in told.sentence
    assert "flat within 5 % before and after it" in told.sentence
    assert "cache" not in told.sentence


def from_device(gib: float):
    """All trials read 8 GiB in total, so much of it from the device."""

    def change(trial: TrialRecord) -> dict[str, object]:
        assert trial.end is not None
        assert trial.end.access is not None
        access = trial.end.access.model_copy(
            update={"read_bytes": 8 * 2**30, "device_read_bytes": int(gib * 2**30)}
        )
        samples = tuple(replace(s, bytes=int(s.at["file"])) for s in trial.samples)
        return {
            "end": trial.end.model_copy(update={"access": access}),
            "samples": Samples.of(samples),
        }

    return change


def test_a_cliff_is_one_of_the_cache_if_the_device_says_so():
    """Files of 2 GiB and more hold 8/9 of all bytes here, and 7 of 8 GiB came from the device."""
    (told,) = observations_of(logs(5, CLIFF), FILES, "file", change=from_device(7))
    assert "cache cliff from 1 GiB to 2 GiB file" in told.sentence
    assert "at least 86 % of the reads beyond it came from the device" in told.sentence
    assert "the device read 88 % of all bytes that were read (5 trials)" in told.evidence


@pytest.mark.parametrize(("memory", "near"), [("1.5 GiB", True), ("24 GiB", False)])
def test_a_cliff_near_the_memory_size_says_so(memory, near):
    plan, run = observed_study(logs(5, CLIFF), FILES, "file")
    host = {**run.host, "memory available at start": memory}
    findings = analyse(plan, run.model_copy(update={"host": host}))
    (told,) = findings.workloads[0].observations
    assert (f"that is near the memory available at start, {memory}" in told.sentence) == near


@pytest.mark.parametrize("gib", [0.01, 8])
def test_a_device_that_read_nothing_or_everything_denies_the_cache(gib):
    plan, run = observed_study(logs(5, CLIFF), FILES, "file", change=from_device(gib))
    host = {**run.host, "memory available at start": "1.5 GiB"}
    (told,) = analyse(plan, run.model_copy(update={"host": host})).workloads[0].observations
    assert "cache" not in told.sentence


def test_a_crossover_names_the_bracket_and_both_verdicts():
    course = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    values = logs(10, FLAT)
    values[:, 1] += course
    told = of_kind(observations_of(values), "crossover")
    (found,) = told
    assert "a wins up to 16 KiB record, b from 256 KiB record on" in found.sentence
    assert "b is 18.7 % slower than a in grid read, 4 KiB record (" in found.sentence
    assert "b is 21.8 % faster than a in grid read, 1 MiB record (" in found.sentence


def test_one_sentence_for_systems_that_do_the_same():
    values = logs(7, GROWING, systems=3)
    values[:, 2] += GROWING
    both, alone = sorted(observations_of(values, RECORDS), key=lambda one: one.size)
    assert set(both.systems) == {"a", "b"}
    assert "; also " in both.sentence
    assert alone.systems == ("c",)
    assert "quadruples" in alone.sentence


def test_a_course_of_very_many_levels_is_looked_at_in_fifty_from_end_to_end():
    rng = np.random.default_rng(4)
    records = tuple(512 * (place + 1) for place in range(200))
    rise = np.log(1 + np.minimum(np.arange(200), 30) / 30)
    logs = rise + rng.normal(0, 0.005, (12, 2, 200))
    plan, run = observed_study(logs, records)
    course, _ = courses(collect(plan, run, plan.workloads[0]))
    assert len(course.levels) == MOST_LEVELS
    assert course.ends == (records[0], records[-1])
    assert set(course.levels) <= set(records)
    assert len(course.same.farthest) == MOST_LEVELS
