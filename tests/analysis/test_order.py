import numpy as np
import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse


def test_every_trial_has_its_line_in_the_order_of_the_run():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    assert [line.slot for line in findings.trials] == list(range(1, 43))
    assert all(line.access and "confirmed" in line.access for line in findings.trials)
    assert all(line.foreign_share == pytest.approx(0.004) for line in findings.trials)


def test_relative_values_are_centred_on_each_system():
    findings = analyse(*synthetic_study(effects={"xfs": 3.0}, noise=0.05, blocks=9))
    for system in ("ext4", "xfs", "btrfs"):
        own = [line.relative for line in findings.trials if line.system == system]
        assert np.median(own) == pytest.approx(1.0)


def test_failed_trials_have_no_relative_value():
    _, run = synthetic_study(blocks=8)
    findings = analyse(*synthetic_study(blocks=8, failed=[run.trials[4].key]))
    line = findings.trials[4]
    assert (line.outcome, line.relative, line.reason) == (
        "failed",
        None,
        "no space left on the target",
    )


def test_drift_is_found_and_measured():
    (drift,) = analyse(*synthetic_study(noise=0.01, drift=-0.2, blocks=14)).drifts
    assert drift.p < 1e-3
    assert drift.change_percent == pytest.approx(100 * np.expm1(-0.2), abs=3)
    assert "values fell by about" in drift.sentence


def test_no_drift_is_said_too():
    (drift,) = analyse(*synthetic_study(noise=0.01, blocks=14)).drifts
    assert "no drift found" in drift.sentence
    assert f"p = {drift.p:.2g}, not below 0.01)." in drift.sentence


def test_a_drift_too_small_to_be_told_is_not_denied_by_its_p() -> None:
    """A p-value beside "no drift" stands with the threshold that it did not reach."""
    (drift,) = analyse(*synthetic_study(noise=0.0003, drift=-0.006, blocks=14)).drifts
    assert drift.p < 0.01
    assert drift.sentence.endswith(f"p = {drift.p:.2g}, but by 0.58 %, not more than 1 %).")


def test_drift_needs_more_than_a_handful_of_trials():
    assert analyse(*synthetic_study(blocks=3)).drifts == ()
