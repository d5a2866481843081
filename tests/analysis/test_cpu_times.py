"""CPU time beside wall-clock time: judged by itself, in no mean with it, told where they differ."""

from itertools import pairwise

import pytest

from support.collections import collection, metric
from support.cpu_times import CPU, TIME, timed
from support.synthetic import synthetic_study
from tiltyard.analysis.alike import alike
from tiltyard.analysis.collected.findings import analyse_collection
from tiltyard.analysis.contrast import NoVerdict
from tiltyard.analysis.decision import all_comparisons, decision
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.gate import gate, gate_decision
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.reader_weights import choices
from tiltyard.analysis.relative import relative_tests, with_mean
from tiltyard.collected.model import Reading
from tiltyard.stats.margin import level_of


def of_cpu(findings: Findings) -> Comparison:
    (workload,) = findings.workloads
    assert workload.cpu_time is not None
    (found,) = workload.cpu_time.comparisons
    return found


def test_it_is_decided_where_the_clock_is_too_noisy_and_the_answer_says_so() -> None:
    findings = timed(1.0, 0.95)
    (workload,) = findings.workloads
    (whole,) = workload.index.comparisons
    found = of_cpu(findings)
    assert (whole.verdict, found.verdict) == ("undecided", "faster")
    assert found.ratio == pytest.approx(0.95, abs=0.01)
    assert "b takes 5" in found.sentence
    assert "less CPU time than a in program CPU time" in found.sentence
    assert findings.answer.startswith("No difference shown in program time between a and b")
    _, told = findings.answer.split("on this host. ")
    assert told.startswith(found.sentence.removesuffix(".") + ";")
    assert told.endswith(
        "; the wall-clock time is not decided. CPU time does not show waiting, nor what threads "
        "save by running at once."
    )


@pytest.mark.parametrize(
    ("ratios", "noise", "said"),
    [
        ((1.0, 1.1), 0.002, "; in wall-clock time they are equivalent."),
        ((0.8, 1.3), 0.002, "; by the clock it is the other way round."),
        ((1.3, 1.3), 0.002, ""),
        ((1.0, 1.0), 0.2, ""),
        ((1.3, 1.0), 0.002, ""),
        ((1.0, 3.0), 0.2, "× the CPU time of a in program CPU time (95 % CI "),
    ],
    ids=["equal", "traded", "both slower", "both the same", "waits longer", "thrice"],
)
def test_it_is_told_in_the_answer_where_it_says_something_else(
    ratios: tuple[float, float], noise: float, said: str
) -> None:
    findings = timed(*ratios, noise)
    assert ("CPU time" in findings.answer) == bool(said)
    assert said in findings.answer


def test_no_mean_is_made_of_both() -> None:
    """Nor where a person names both as headlines, nor in an own view, nor in what was imported."""
    for own in (CPU, CPU.model_copy(update={"role": "headline"})):
        findings = timed(1.0, 0.5, 0.01, metrics=(TIME, own))
        (workload,) = findings.workloads
        assert workload.index.cells == 1
        assert workload.index.comparisons[0].ratio == pytest.approx(1.0, abs=0.05)
        assert findings.overall == ()
        assert with_mean(relative_tests(findings)) == ()
        assert sum(choices(findings).weights) == 1
    cards = [metric(name, "s") for name in ("time", "google-benchmark_cpu_time", "user")]
    own = [one.name for one in alike(cards, lambda one: one)]
    assert own == ["google-benchmark_cpu_time", "user"]
    values = (100.0, 101.0, 99.0)
    both = [Reading(metric=one.name, system=name, values=tuple(factor * v for v in values))
            for one, times in ((cards[0], 1.0), (cards[1], 2.0))
            for name, factor in (("a", 1.0), ("b", times))]  # fmt: skip
    found = analyse_collection(collection(both, cards[:2]))
    (workload,) = found.workloads
    assert (workload.index.cells, found.overall) == (1, ())
    assert workload.index.comparisons[0].ratio == pytest.approx(1.0)
    assert sum(choices(found).weights) == 1
    assert with_mean(relative_tests(found)) == ()


def test_the_wall_clock_time_loses_nothing() -> None:
    """Verdict, interval, family, ranks and end of the study are as they are without it."""
    for time, noise in ((1.0, 0.2), (1.1, 0.03), (1.0, 0.005)):
        both = timed(time, 0.95, noise)
        alone = timed(time, None, noise)
        (one,), (other,) = both.workloads, alone.workloads
        assert one.cpu_time is not None
        assert other.cpu_time is None, "a kernel that counts none"
        assert one.index == other.index
        assert both.family == alone.family == 0
        assert all_comparisons(both) == all_comparisons(alone)
        assert decision(both) == decision(alone)
        assert both.answer.startswith(alone.answer)


def test_an_open_cpu_time_does_not_keep_a_study_going() -> None:
    findings = timed(1.5, 1.0, 0.01, 0.3, blocks=8)
    assert of_cpu(findings).verdict == "undecided"
    assert findings.workloads[0].index.comparisons[0].verdict == "slower"
    assert findings.complete
    assert decision(findings).done


def test_of_several_programs_and_systems_they_are_one_family() -> None:
    systems = ("a", "b", "c")
    findings = timed(1.0, 0.9, systems=systems)
    (workload,) = findings.workloads
    assert workload.cpu_time is not None
    pairs = workload.cpu_time.comparisons
    assert len(pairs) == 3
    assert {pair.level for pair in pairs} == {pairs[0].level}
    assert pairs[0].level > of_cpu(timed(1.0, 0.9)).level
    assert "the 3 comparisons of CPU time are a family by themselves, by Holm at 5 %" in (
        findings.design_sentence
    )
    values = [standing.value for standing in workload.cpu_time.standings]
    assert all(one <= other for one, other in pairwise(values))


def test_it_is_compared_only_beside_the_time_of_given_work() -> None:
    """A program that works for a given time reports a rate: its CPU time says nothing by itself."""
    rate = TIME.model_copy(update={"name": "requests", "unit": "1/s", "direction": "higher"})
    (workload,) = timed(metrics=(TIME.model_copy(update={"role": "detail"}), CPU, rate), blocks=8
                        ).workloads  # fmt: skip
    assert workload.cpu_time is None
    assert "cpu_time" in {cell.metric for cell in workload.details}
    old = analyse(*synthetic_study(("a", "b"), ("postmark",), blocks=8))
    assert old.workloads[0].cpu_time is None
    assert "CPU time" not in old.answer + old.design_sentence


def test_disturbed_blocks_withhold_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    withheld = NoVerdict("invalid", "too many blocks were disturbed")
    monkeypatch.setattr("tiltyard.analysis.findings.too_many_disturbed", lambda *_: withheld)
    found = of_cpu(timed(1.0, 0.9))
    assert found.verdict == "invalid"
    assert "too many blocks were disturbed" in found.sentence


def test_a_regression_in_cpu_time_is_told_by_the_gate_and_fails_where_it_was_asked_for() -> None:
    findings = timed(1.0, 1.1, 0.005)
    by_clock, by_cpu = gate(findings, 0.03), gate(findings, 0.03, "cpu-time")
    assert (by_clock.result, by_cpu.result) == ("passed", "regression")
    assert by_clock.sentence == (
        "no regression beyond 3 % in 1 headline; CPU time is worse by more than 3 %, and does not "
        "decide"
    )
    assert by_cpu.sentence == "1 of 1 headline worse by more than 3 %"
    for own, names in ((by_clock, ("time", "CPU time")), (by_cpu, ("CPU time", "time"))):
        assert ([one.name for one in own.headlines], [one.name for one in own.beside]) == (
            [names[0]], [names[1]]
        )  # fmt: skip
        assert own.level == 1 - level_of(1), "the other one takes nothing from it"
    assert by_clock.beside[0].value == pytest.approx(0.011, rel=0.02)
    assert timed(1.0, None).workloads[0].cpu_time is None
    assert gate(timed(1.0, None), 0.03).beside == ()


def test_the_gate_by_cpu_time_goes_on_for_cpu_time_only() -> None:
    findings = timed(1.0, 1.0, 0.2, 0.002, blocks=8)
    assert not gate_decision(findings, 0.03, withheld=False).done
    assert gate_decision(findings, 0.03, "cpu-time", withheld=False).done
    assert gate(findings, 0.03, "cpu-time").result == "passed"
    assert gate(findings, 0.03).result == "undecided"
