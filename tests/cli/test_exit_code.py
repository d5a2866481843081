"""What the end of a run means to a script."""

import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.cli.run import _exit_code
from tiltyard.errors import ExitCode
from tiltyard.plan.model import TrialKey

SYSTEMS = ("ext4", "xfs")


def found(noise: float = 0.02, **rules: object) -> Findings:
    return analyse(*synthetic_study(SYSTEMS, noise=noise, **rules))  # type: ignore[arg-type]


def test_decided_is_done() -> None:
    assert _exit_code(found(effects={"xfs": 1.3}), require_decision=True) == ExitCode.DONE


@pytest.mark.parametrize("required", [True, False])
def test_undecided_is_told_where_a_decision_is_required(required: bool) -> None:
    code = _exit_code(found(noise=0.2), require_decision=required)
    assert code == (ExitCode.UNDECIDED if required else ExitCode.DONE)


@pytest.mark.parametrize("required", [True, False])
def test_invalid_is_never_success(required: bool) -> None:
    findings = found(effects={"xfs": 1.3})
    (workload,) = findings.workloads
    invalid = tuple(c.model_copy(update={"verdict": "invalid"}) for c in workload.index.comparisons)
    index = workload.index.model_copy(update={"comparisons": invalid})
    changed = workload.model_copy(update={"index": index})
    disturbed = findings.model_copy(update={"workloads": (changed,)})
    assert _exit_code(disturbed, require_decision=required) == ExitCode.TRIALS_FAILED


def test_nothing_to_compare_is_no_decision() -> None:
    alone = analyse(*synthetic_study(("ext4",), blocks=7))
    assert _exit_code(alone, require_decision=True) == ExitCode.UNDECIDED
    assert _exit_code(alone, require_decision=False) == ExitCode.DONE


def test_a_workload_that_a_look_has_left_out_stays_decided() -> None:
    plan, run = synthetic_study(
        SYSTEMS, ("postmark", "iozone"), blocks=14, effects={"xfs": 1.5}, noise=0.02
    )
    kept = tuple(t for t in run.trials if t.key.block <= 10 or t.key.workload == "iozone")
    going_on = frozenset((system, "iozone") for system in SYSTEMS)
    shrunk = run.model_copy(update={"trials": kept, "active_pairs": {11: going_on}})
    findings = analyse(plan, shrunk)
    assert findings.blocks_done == 14
    assert _exit_code(findings, require_decision=True) == ExitCode.DONE


def test_failed_trials_come_first() -> None:
    failed = [TrialKey(block=3, system="xfs", workload="postmark")]
    findings = analyse(*synthetic_study(SYSTEMS, blocks=7, failed=failed))
    assert _exit_code(findings, require_decision=True) == ExitCode.TRIALS_FAILED
