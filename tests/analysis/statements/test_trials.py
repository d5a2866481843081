"""What is said of single trials, their order, their spread and their tails."""

import numpy as np
import pytest
from msgspec.structs import replace

from support.observed import observations_of, observed_study, of_kind
from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Observation
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import Samples

LEVELS = (4096, 65536)


def noise(blocks: int, scale: float = 0.01, seed: int = 3, systems: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, (blocks, systems, len(LEVELS)))


def only(kind: str, logs: np.ndarray, **options: object) -> Observation:
    (found,) = of_kind(observations_of(logs, LEVELS, **options), kind)
    return found


def test_two_modes_with_their_shares():
    logs = noise(30)
    logs[::3, 0, 1] += np.log(0.8)
    found = only("bimodal", logs)
    assert "two modes on a" in found.sentence
    assert "in 33 % of the blocks" in found.sentence
    assert found.size == pytest.approx(-np.log(0.8), abs=0.02)


def test_fewer_values_only_hint_at_modes_and_are_not_told():
    logs = noise(20)
    logs[::3, 0, 1] += np.log(0.8)
    assert of_kind(observations_of(logs, LEVELS), "bimodal") == []


def test_drift_says_how_far():
    logs = noise(14) + 0.1 * np.arange(14)[:, None, None] / 13
    found = only("drift", logs)
    assert "values rose over the session" in found.sentence
    assert found.size > np.log(1.05)


def test_a_step_is_not_called_a_drift():
    logs = noise(14)
    logs[6:] += 0.1
    found = only("step", logs)
    assert "step change of +" in found.sentence
    assert "at trial 13 of the session" in found.sentence
    assert of_kind(observations_of(logs, LEVELS), "drift") == []


def test_bursts_of_noise_make_neighbours_alike():
    rng = np.random.default_rng(5)
    logs = noise(20, 0.002) + 0.03 * np.repeat(rng.choice([-1, 1], 10), 2)[:, None, None]
    found = only("autocorrelation", logs)
    assert "consecutive trials are correlated" in found.sentence


def test_the_steadier_system_is_named_first():
    logs = noise(20)
    logs[:, 1] *= 6
    found = only("consistency", logs)
    assert found.systems == ("a", "b")
    assert "a is more consistent than b" in found.sentence
    assert "; also " in found.sentence


def busy(share: float, block: int):
    """Other processes took a share of a CPU in the trials of one block."""

    def change(trial: TrialRecord) -> dict[str, object]:
        assert trial.end is not None
        taken_s = share * trial.end.elapsed_s if trial.key.block == block else 0.0
        usage = trial.end.usage.model_copy(update={"foreign_s": taken_s})
        return {"end": trial.end.model_copy(update={"usage": usage})}

    return change


def test_an_outlier_comes_with_its_telemetry():
    logs = noise(10)
    logs[6, 0] -= 1.0
    found = only("outlier", logs, change=busy(0.4, 7))
    assert "the trial of a in block 7 is an outlier" in found.sentence
    assert "other processes took 40 % of a CPU meanwhile" in found.sentence
    assert "its telemetry does not explain it" in only("outlier", logs).sentence


def test_a_worse_tail_needs_enough_operations():
    shape = Shape(
        metrics=(card("read", "read", "B/s"), card("latency", "latency", "s", "lower", "detail")),
        typical={"read": 1e9, "latency": 1e-5},
        timed={"latency": None},
    )
    plan, run = synthetic_study(
        ("a", "b"), ("timed",), effects={("b", "latency"): 0.4}, shapes={"timed": shape}, blocks=10
    )

    def tails(operations: int) -> list[Observation]:
        trials = tuple(trial.model_copy(update=_counted(trial, operations)) for trial in run.trials)
        findings = analyse(plan, run.model_copy(update={"trials": trials}))
        return of_kind(findings.workloads[0].observations, "tail")

    assert tails(9_999) == []
    (found,) = tails(10_000)
    assert "the tail of b is worse than that of a: the 99th percentile" in found.sentence
    assert "of one operation is 2.4" in found.sentence


def _counted(trial: TrialRecord, operations: int) -> dict[str, object]:
    return {
        "samples": Samples.of(
            replace(sample, latency_ns=replace(sample.latency_ns, count=operations))
            if sample.latency_ns
            else sample
            for sample in trial.samples
        )
    }


def test_failed_trials_are_no_part_of_any_series():
    plan, run = observed_study(noise(10), LEVELS)
    failed = run.trials[5].model_copy(
        update={"outcome": "failed", "samples": Samples.of(()), "end": None}
    )
    trials = (*run.trials[:5], failed, *run.trials[6:])
    findings = analyse(plan, run.model_copy(update={"trials": trials}))
    assert findings.workloads[0].observations == ()
