"""Studies that are young, broken, tiny or odd have reports too."""

import pytest

from support.pages import page_of
from support.reading import Reading
from support.specimen import findings as specimen
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison, Findings, Index, Standing
from tiltyard.plan.model import TrialKey


def text_of(findings: Findings) -> str:
    return Reading(page_of(findings)).text


def test_before_the_first_look_values_are_shown_and_no_verdict() -> None:
    page = page_of(analyse(*synthetic_study(blocks=3)))
    text = Reading(page).text
    assert "This study is not finished: 3 of at most 20 blocks" in text
    assert "? undecided" in text
    assert 'class="chip faster"' not in page
    assert 'class="chip slower"' not in page


def test_a_study_that_ended_early_says_why() -> None:
    plan, run = synthetic_study(blocks=8)
    stopped = run.model_copy(update={"stopped": "the budget of 5:00 is used up after 8 blocks"})
    text = text_of(analyse(plan, stopped))
    assert "ended before everything was decided: the budget of 5:00 is used up" in text
    assert "Verdicts rest on 8 blocks" in text, "the last look takes what there is"


def test_before_the_first_trial_there_is_a_page() -> None:
    findings = analyse(*synthetic_study(workloads=("iozone", "postmark"), blocks=0))
    text = text_of(findings)
    assert findings.question in text
    assert "0 trials in the order in which they ran" in text


def test_equal_systems_are_called_equivalent() -> None:
    findings = analyse(*synthetic_study(("a", "b"), blocks=20, noise=0.002))
    assert [c.verdict for c in findings.workloads[0].index.comparisons] == ["equivalent"]
    assert "= equivalent" in text_of(findings)


def test_undecided_says_so() -> None:
    findings = analyse(*synthetic_study(("a", "b"), blocks=20, noise=0.2))
    assert [c.verdict for c in findings.workloads[0].index.comparisons] == ["undecided"]
    assert "? undecided" in text_of(findings)


def test_failed_trials_are_listed_and_invalidate() -> None:
    lost = [TrialKey(block=block, system="xfs", workload="postmark") for block in range(1, 5)]
    findings = analyse(*synthetic_study(blocks=10, failed=lost))
    text = text_of(findings)
    assert "4 failed" in text
    assert text.count("failed: ") >= 4


def test_a_verdict_of_invalid_is_printed() -> None:
    findings = specimen(workloads=("postmark",), blocks=7)
    text = text_of(with_verdict(findings, "invalid"))
    assert "✗ invalid" in text


def test_the_baseline_may_be_any_system() -> None:
    findings = analyse(
        *synthetic_study(workloads=("iozone",), effects={"xfs": 1.2}, baseline="xfs")
    )
    page = page_of(findings)
    assert "write, relative to xfs" in page
    assert "relative to ext4" not in page


@pytest.mark.parametrize("systems", [2, 9])
def test_few_and_many_systems(systems: int) -> None:
    names = [f"ext4 commit={number}" for number in range(systems)]
    text = text_of(specimen(systems=names, blocks=7, tests=("write", "read")))
    assert all(name in text for name in names)


def with_verdict(findings: Findings, verdict: str) -> Findings:
    """The same study with another verdict in its first ranked table."""
    workload = findings.workloads[0]
    standings = tuple(_with(standing, verdict) for standing in workload.index.standings)
    index: Index = workload.index.model_copy(update={"standings": standings})
    return findings.model_copy(
        update={"workloads": (workload.model_copy(update={"index": index}),)}
    )


def _with(standing: Standing, verdict: str) -> Standing:
    if standing.comparison is None:
        return standing
    comparison: Comparison = standing.comparison.model_copy(update={"verdict": verdict})
    return standing.model_copy(update={"comparison": comparison})
