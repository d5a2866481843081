"""Percentiles that a tool reads from a histogram: what its bins leave open is in every interval."""

import math

import pytest

from support.shapes import Shape, card
from support.synthetic import SHAPES, factorial_study, synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.gate import gate
from tiltyard.analysis.model import Findings
from tiltyard.importers.live import bin_width, readers
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.study.program import Readings

P99 = "read_completion_latency_p99"
WIDTH = -math.log1p(-1 / 64)


def measured(metric: str, read: str | None, **options: object) -> tuple[Plan, RunRecord]:
    """Two systems a little apart in one time, which a program printed."""
    shape = Shape((card(metric, "latency", "s", "lower"),), {metric: 1e-4})
    study = factorial_study if "factors" in options else synthetic_study
    if study is synthetic_study:
        options = {"systems": ("a", "b"), "effects": {"b": 1.01}, **options}
    plan, run = study(workloads=("work",), shapes={"work": shape}, noise=1e-4, **options)  # type: ignore[operator]
    own = plan.workloads[0].model_copy(update={"readings": read and Readings(read=read)})
    return plan.model_copy(update={"workloads": (own,)}), run


def verdict(findings: Findings) -> str:
    return findings.workloads[0].cells[0].comparisons[0].verdict


def test_a_percentile_in_bins_is_not_equivalent_within_2_percent_and_a_mean_is() -> None:
    binned, exact = (
        analyse(*measured(name, "fio", blocks=20)) for name in (P99, "read_completion_latency")
    )
    assert (verdict(binned), verdict(exact)) == ("undecided", "equivalent")
    wide, narrow = (own.workloads[0].cells[0].comparisons[0] for own in (binned, exact))
    assert (wide.rounding, narrow.rounding) == (pytest.approx(WIDTH), 0.0)
    assert wide.low == pytest.approx(0.99 * math.exp(-WIDTH), rel=1e-3)
    assert wide.high == pytest.approx(0.99 * math.exp(WIDTH), rel=1e-3)
    assert (wide.more_needed, wide.new_study_needs) == (None, None)
    (told,) = (one.text for one in binned.notices if "bins" in one.text)
    assert "up to 1.6 % wide" in told
    assert not any("bins" in one.text for one in exact.notices)


def test_the_gate_goes_by_the_same_intervals() -> None:
    """1 % less, known to 1.6 %: within 1.5 % only if it were exact."""
    binned, exact = (
        gate(analyse(*measured(name, "fio", blocks=20)), 0.005)
        for name in (P99, "read_completion_latency")
    )
    assert (binned.result, exact.result) == ("undecided", "passed")
    assert binned.blocks_needed is None
    line, certain = binned.headlines[0], exact.headlines[0]
    assert line.low is not None
    assert certain.low is not None
    assert math.log(certain.low / line.low) == pytest.approx(WIDTH, rel=0.05)


def test_an_effect_leaves_open_as_much_as_all_of_its_values() -> None:
    """A main effect as much as a pair, an interaction twice as much."""
    factors = {"fs": ("ext4", "xfs"), "time": ("atime", "noatime")}
    found = analyse(*measured(P99, "fio", blocks=20, factors=factors))
    widths = {
        one.kind: math.log(one.high / one.low) / 2
        for one in found.workloads[0].effects
        if one.high is not None and one.low is not None
    }
    assert widths["main"] == pytest.approx(WIDTH, rel=0.05)
    assert widths["interaction"] == pytest.approx(2 * WIDTH, rel=0.05)


def test_readers_say_which_of_their_metrics_are_read_from_bins() -> None:
    assert bin_width("fio", P99) == 1 / 64
    assert bin_width("fio", "read_completion_latency") == 0.0
    assert bin_width("sysbench", "latency_p95") == pytest.approx(0.0178, abs=1e-4)
    assert bin_width("sockperf", "latency_p99") == 0.0
    assert all(0 <= one.bin_width < 0.5 for one in readers())
    assert {one.name for one in readers() if one.timed and not one.bin_width} == {"sockperf"}


def test_every_percentile_has_the_interval_of_its_median_and_bucket() -> None:
    shapes = {"work": Shape(SHAPES["postmark"].metrics, SHAPES["postmark"].typical,
                            timed={"transactions": 1e-4})}  # fmt: skip
    few, many = (
        analyse(*synthetic_study(("a", "b"), ("work",), blocks=blocks, shapes=shapes))
        for blocks in (5, 7)
    )
    for summary in many.workloads[0].cells[0].summaries:
        assert summary.percentile_intervals.keys() == summary.percentiles.keys()
        for name, (low, high) in summary.percentile_intervals.items():
            assert low < summary.percentiles[name] * (1 - 1 / 65)
            assert summary.percentiles[name] < high * (1 - 1 / 65)
    for summary in few.workloads[0].cells[0].summaries:
        assert summary.percentiles
        assert not summary.percentile_intervals
