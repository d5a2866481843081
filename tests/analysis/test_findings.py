"""The whole analysis on studies whose truth is known."""

import math

import numpy as np
import pytest
from msgspec.structs import replace

from support.synthetic import Shape, card, synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.run.samples import Samples
from tiltyard.stats.summary import geometric_mean

MIXED = {
    "server": Shape(
        metrics=(
            card("requests", "requests", "1/s"),
            card("latency", "latency", "s", "lower"),
        ),
        typical={"requests": 9000.0, "latency": 0.004},
    )
}


def test_tables_have_every_cell_pair_and_metric():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    postmark, iozone = findings.workloads
    assert (len(postmark.cells), len(postmark.details), len(postmark.by_metric)) == (1, 4, 0)
    assert (len(iozone.cells), len(iozone.details), len(iozone.by_metric)) == (78, 0, 13)
    assert all(len(cell.comparisons) == 3 for cell in iozone.cells)
    assert iozone.index.cells == 78
    assert findings.family == 3 * (78 + 13)
    assert findings.trials_kept == 7 * 3 * 2
    assert sum(iozone.tally.values()) == 78 * 3


def test_the_only_cell_of_a_workload_is_its_index():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7, noise=0.02))
    postmark, _ = findings.workloads
    (cell,) = postmark.cells
    assert cell.comparisons == postmark.index.comparisons
    assert postmark.compared.count(postmark.index) == 1
    assert cell not in postmark.compared


def test_log_ratios_beyond_all_floats_are_still_told():
    plan, run = synthetic_study(("ext4", "xfs"), blocks=7)

    def huge(trial):
        factor = 1e140 if trial.key.system == "xfs" else 1e-180
        samples = (replace(one, value=one.value * factor) for one in trial.samples)
        return trial.model_copy(update={"samples": Samples.of(samples)})

    trials = tuple(huge(trial) for trial in run.trials)
    (workload,) = analyse(plan, run.model_copy(update={"trials": trials})).workloads
    (comparison,) = workload.index.comparisons
    assert comparison.verdict == "faster"
    assert comparison.ratio is not None
    assert 1e100 < comparison.ratio < math.inf


def test_an_infinite_value_is_none():
    plan, run = synthetic_study(("ext4", "xfs"), blocks=14)
    odd = run.trials[3]
    samples = tuple(replace(one, value=math.inf) for one in odd.samples)
    trials = (
        *run.trials[:3],
        odd.model_copy(update={"samples": Samples.of(samples)}),
        *run.trials[4:],
    )
    findings = analyse(plan, run.model_copy(update={"trials": trials}))
    assert len(findings.workloads[0].index.comparisons[0].differences) == 13
    assert not any("inf×" in one.sentence for one in findings.workloads[0].observations)


def test_findings_survive_their_file():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    assert Findings.model_validate_json(findings.model_dump_json()) == findings


def test_effects_are_recovered_in_cells_metrics_and_index():
    effects = {("xfs", "read"): 1.4, ("btrfs", "read"): 0.6, "btrfs": 0.9}
    plan, run = synthetic_study(workloads=("iozone",), effects=effects, noise=0.01, blocks=14)
    (workload,) = analyse(plan, run).workloads
    read = next(index for index in workload.by_metric if index.name == "read")
    assert [standing.system for standing in read.standings] == ["xfs", "ext4", "btrfs"]
    assert read.comparisons[0].ratio == pytest.approx(1.4, rel=0.01)
    assert read.comparisons[1].ratio == pytest.approx(0.6, rel=0.01)
    expected = math.exp((math.log(0.6) + 12 * math.log(0.9)) / 13)
    assert workload.index.comparisons[1].ratio == pytest.approx(expected, rel=0.01)


def test_losses_are_the_cells_in_which_the_best_is_slower():
    effects = {"xfs": 1.3, ("xfs", "fwrite"): 0.8}
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), effects=effects, blocks=10)
    (workload,) = analyse(plan, run).workloads
    assert workload.index.standings[0].system == "xfs"
    assert {loss.label.split(",")[0] for loss in workload.losses} == {"fwrite"}
    assert len(workload.losses) == 6
    assert all(loss.comparison.system == "xfs" for loss in workload.losses)
    assert all(loss.comparison.verdict == "slower" for loss in workload.losses)


def test_standings_are_relative_to_the_baseline_wherever_it_stands():
    plan, run = synthetic_study(effects={"xfs": 1.3, "btrfs": 0.7}, baseline="xfs", blocks=10)
    standings = analyse(plan, run).workloads[0].index.standings
    assert [standing.system for standing in standings] == ["xfs", "ext4", "btrfs"]
    assert standings[0].comparison is None
    assert standings[1].comparison is not None
    assert standings[1].comparison.against == "xfs"
    assert standings[1].comparison.verdict == "slower"
    assert standings[1].comparison.ratio == pytest.approx(1 / 1.3, rel=0.05)


def test_value_of_a_standing_is_the_geometric_mean_of_medians():
    (workload,) = analyse(*synthetic_study(workloads=("iozone",), blocks=7)).workloads
    for standing in workload.index.standings:
        medians = [
            summary.median
            for cell in workload.cells
            for summary in cell.summaries
            if summary.system == standing.system
        ]
        assert standing.value == pytest.approx(geometric_mean(np.array(medians)))


def test_metrics_that_point_both_ways_or_differ_in_unit_have_no_common_mean():
    """The latency of a closed loop is the inverse of its rate: no second test of the headline."""
    plan, run = synthetic_study(
        ("a", "b"), ("server",), effects={"b": 1.5}, shapes=MIXED, blocks=10
    )
    findings = analyse(plan, run)
    (workload,) = findings.workloads
    index, (requests, latency) = workload.index, workload.cells
    assert (index.unit, index.direction, index.cells) == ("1/s", "higher", 1)
    assert [standing.system for standing in index.standings] == ["b", "a"]
    assert index.standings[0].value == pytest.approx(13500, rel=0.03)
    assert index.comparisons == tuple(requests.comparisons), "one verdict, one interval"
    assert index.comparisons[0].ratio == pytest.approx(1.5, rel=0.03)
    assert latency.comparisons[0].ratio == pytest.approx(1 / 1.5, rel=0.03)
    assert [table.unit for table in workload.compared].count("1/s") == 1
    assert "requests" in findings.answer
    assert "latency" not in findings.answer


def test_index_of_one_cell_and_one_pair_is_that_cell():
    plan, run = synthetic_study(("ext4", "xfs"), effects={"xfs": 1.3}, blocks=10)
    (workload,) = analyse(plan, run).workloads
    (cell,), (index,) = workload.cells[0].comparisons, workload.index.comparisons
    assert (cell.ratio, cell.low, cell.high) == (index.ratio, index.low, index.high)
    assert cell.level == index.level == 0.95


def test_index_of_several_pairs_has_intervals_that_hold_together():
    (workload,) = analyse(*synthetic_study(effects={"xfs": 1.3}, blocks=10)).workloads
    for cell, index in zip(workload.cells[0].comparisons, workload.index.comparisons, strict=True):
        assert index.level == pytest.approx(1 - 0.05 / 3)
        assert index.ratio == cell.ratio
        assert index.low <= cell.low < cell.high <= index.high


def test_ranks_tell_what_the_verdicts_leave_possible():
    plan, run = synthetic_study(
        ("a", "b", "c"), effects={"b": 1.3, "c": 1.305}, noise=0.02, blocks=10
    )
    (workload,) = analyse(plan, run).workloads
    ranks = {
        standing.system: (standing.rank_best, standing.rank_worst)
        for standing in workload.index.standings
    }
    assert ranks == {"a": (3, 3), "b": (1, 2), "c": (1, 2)}


def test_a_cell_that_is_decided_keeps_its_verdict_and_evidence():
    effects = {("b", "write"): 1.5, ("b", "read"): 1.01}
    shapes = {"io": Shape((card("write", "write", "B/s"), card("read", "read", "B/s")), {
        "write": 1e9, "read": 2e9})}  # fmt: skip
    rules = {"workloads": ("io",), "shapes": shapes, "effects": effects, "noise": 0.03}
    plan, run = synthetic_study(("a", "b"), blocks=20, **rules)
    seen = []
    for blocks in (7, 10, 14, 20):
        trials = tuple(trial for trial in run.trials if trial.key.block <= blocks)
        (workload,) = analyse(plan, run.model_copy(update={"trials": trials})).workloads
        seen.append([cell.comparisons[0] for cell in workload.cells])
    write, read = zip(*seen, strict=True)
    assert [found.verdict for found in write] == ["undecided", "faster", "faster", "faster"]
    assert {(found.blocks, found.p, found.low) for found in write[1:]} == {
        (10, write[1].p, write[1].low)
    }
    assert [found.blocks for found in read] == [7, 10, 14, 20]
    assert len(write[-1].differences) == 20


def test_nothing_done_yet():
    findings = analyse(*synthetic_study(blocks=0))
    assert (findings.look, findings.blocks_done, findings.family) == (0, 0, 0)
    assert findings.workloads[0].index.standings == ()
    assert findings.resolution_percent is None
    assert not findings.complete


def test_no_winner_is_hinted_at_before_the_first_look():
    findings = analyse(*synthetic_study(effects={"xfs": 2.0}, blocks=6))
    for found in findings.workloads[0].index.comparisons:
        assert (found.verdict, found.ratio, found.low, found.ahead) == (
            "undecided",
            None,
            None,
            None,
        )
        assert len(found.differences) == 6


def test_complete_when_decided_or_at_the_last_look():
    clear = {"xfs": 1.3, "btrfs": 0.7}
    assert not analyse(*synthetic_study(effects=clear, blocks=7)).complete
    assert analyse(*synthetic_study(effects=clear, blocks=10)).complete
    assert not analyse(*synthetic_study(noise=0.05, blocks=14)).complete
    assert analyse(*synthetic_study(noise=0.05, blocks=20)).complete


def test_an_interrupted_trial_is_as_if_it_had_not_begun():
    plan, run = synthetic_study(blocks=8)
    last = run.trials[-1]
    cut = last.model_copy(update={"outcome": "interrupted", "samples": Samples.of(())})
    with_cut = run.model_copy(update={"trials": (*run.trials[:-1], cut)})
    findings = analyse(plan, with_cut)
    assert findings.blocks_done == 7
    assert findings.trials_failed == 0
    again = run.model_copy(update={"trials": (*run.trials[:-1], cut, last)})
    assert analyse(plan, again).workloads == analyse(plan, run).workloads


def test_a_value_of_zero_is_a_block_without_that_value():
    plan, run = synthetic_study(("ext4", "xfs"), blocks=8)
    trial = run.trials[0]
    zero = replace(trial.samples[0], value=0.0)
    broken = trial.model_copy(update={"samples": Samples.of((zero, *trial.samples[1:]))})
    findings = analyse(plan, run.model_copy(update={"trials": (broken, *run.trials[1:])}))
    assert len(findings.workloads[0].cells[0].comparisons[0].differences) == 7
    assert findings.workloads[0].cells[0].comparisons[0].verdict != "invalid"


def test_prepared_systems_are_told_with_what_differs():
    findings = analyse(*synthetic_study(("ext4", "xfs"), blocks=7))
    (difference,) = findings.differences
    assert difference.values == {"ext4": "ext4", "xfs": "xfs"}
    assert difference.follows_from == ("filesystem",)
    assert findings.systems[0].commands[0] == "mkfs -t ext4 /dev/loop7"
