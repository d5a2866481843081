"""Steady state is checked and said: never trimmed, and nothing claimed of short trials."""

import numpy as np
import pytest

from support.synthetic import synthetic_study
from support.turns import sliced, workload_of
from tiltyard.analysis import warm_up
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.quantity import collect
from tiltyard.analysis.steadiness import steadiness
from tiltyard.analysis.warm_up import Series, series_of
from tiltyard.plan.model import PlannedWorkload
from tiltyard.run.record import TrialRecord


def level(trials: int, slices: int = 60) -> np.ndarray:
    return 1e5 * np.random.default_rng(2).normal(1, 0.01, (trials, slices))


def found(rates: np.ndarray, **update: object):
    plan, run = sliced(rates, **update)
    return steadiness(collect(plan, run, workload_of(plan)))


def test_level_trials_are_steady():
    steady = found(level(20))
    assert (steady.trials, steady.flagged) == (20, 0)
    assert steady.sentence == "postmark: steady in 20 of 20 trials; no warm-up was removed."


def test_what_was_left_out_is_said():
    sentence = found(level(20), warm_up_s=3.0).sentence
    assert "the first 3 s of each trial are left out, as the pilot found" in sentence


@pytest.mark.parametrize(("falling", "warned"), [(4, False), (5, True)])
def test_more_than_a_fifth_of_unsteady_trials_is_no_steady_state(falling, warned):
    rates = level(20)
    rates[:falling] *= np.linspace(1, 0.5, 60)
    plan, run = sliced(rates)
    findings = analyse(plan, run)
    assert findings.workloads[0].steadiness.flagged == falling
    texts = [notice for notice in findings.notices if "no steady state" in notice.text]
    assert [notice.severity for notice in texts] == ["warning"] * warned
    assert ("no steady state" in findings.workloads[0].steadiness.sentence) == warned
    if warned:
        assert "single number should not be a headline" in texts[0].text


@pytest.mark.parametrize(("slices", "slice_s"), [(60, 0.1), (19, 1.0)])
def test_short_trials_tell_of_noise_and_not_of_a_state(slices, slice_s):
    rates = level(14, slices) * np.linspace(1, 0.2, slices)
    short = found(rates, slice_s=slice_s)
    assert (short.trials, short.flagged) == (0, 0)
    assert "too short to tell" in short.sentence


def test_several_values_a_trial_are_said_to_be_untouched():
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), 7)
    untold = steadiness(collect(plan, run, workload_of(plan)))
    assert untold.trials == 0
    assert "no warm-up was removed" in untold.sentence


def test_before_the_first_trial_there_is_nothing_to_say():
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), 0)
    assert steadiness(collect(plan, run, workload_of(plan))) is None


def test_the_slices_of_a_trial_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 trials each look costs seconds."""
    looked: list[TrialRecord] = []

    def counting(trial: TrialRecord, workload: PlannedWorkload) -> Series | None:
        looked.append(trial)
        return series_of(trial, workload)

    monkeypatch.setattr(warm_up, "series_of", counting)
    plan, run = sliced(level(20))
    assert analyse(plan, run).workloads[0].steadiness.trials == 20
    assert len(looked) == len(run.trials) == 20
