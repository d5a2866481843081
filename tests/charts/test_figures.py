"""Comparisons as words, and turned round."""

import pytest

from support.specimen import GRID, comparison, iozone, pairs
from tiltyard.analysis.line import Line, interval_text, line_of, ratio_text
from tiltyard.analysis.model import Comparison, Pair
from tiltyard.analysis.pairs import against, between, turned
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.verdict import OtherAnalysis
from tiltyard.charts.figures import with_unit
from tiltyard.charts.grid import grid_of

CLEAR = comparison("xfs", "ext4", [1.24, 1.26, 1.31, 1.33, 1.36, 1.39])
EARLY = comparison("xfs", "ext4", [1.3, 1.2])


def test_digits_follow_the_interval() -> None:
    assert ratio_text(CLEAR) == "1.314"
    assert interval_text(CLEAR) == "1.260 … 1.360"


def test_without_a_look_there_is_no_figure() -> None:
    assert (ratio_text(EARLY), interval_text(EARLY)) == ("–", "–")


def test_turned_round_the_verdict_and_the_bounds_swap() -> None:
    other = turned(CLEAR)
    assert (other.system, other.against, other.verdict) == ("ext4", "xfs", "slower")
    assert (other.low, other.high) == (1 / 1.36, 1 / 1.26)
    assert other.ahead == 0
    assert turned(EARLY).ratio is None
    again = turned(other)
    assert again.verdict == CLEAR.verdict
    beside = OtherAnalysis(
        analysis="adjusted", covariates=(), explained=None, blocks=6, ratio=1.25, low=1.2, high=1.3,
        level=0.95, p=0.03, p_adjusted=0.03, verdict="faster", sentence="",
    )  # fmt: skip
    both = turned(CLEAR.model_copy(update={"beside": beside})).beside
    assert both is not None
    assert (both.ratio, both.low, both.high) == (0.8, 1 / 1.3, 1 / 1.2)
    assert both.verdict == "slower"
    assert again.differences == pytest.approx(CLEAR.differences)


def test_every_system_meets_the_baseline_once_wherever_it_stands() -> None:
    found = pairs({"a": [1.0] * 6, "b": [2.0] * 6, "c": [4.0] * 6})
    meeting = against(found, "b")
    assert [(pair.system, pair.against, pair.ratio) for pair in meeting] == [
        ("a", "b", pytest.approx(0.5)),
        ("c", "b", pytest.approx(2.0)),
    ]
    assert [pair.verdict for pair in meeting] == ["slower", "faster"]


def told(ratio: float, direction: Direction, digits: int = 1) -> str:
    pair = Pair(system="xfs", against="ext4", within="")
    return Line(pair, ratio, None, None, "undecided", direction, digits).told


def test_an_advantage_is_more_of_a_rate_and_less_of_a_time() -> None:
    cases: tuple[tuple[Comparison, Direction, str], ...] = (
        (CLEAR, "higher", "+31.4 %"),
        (turned(CLEAR), "lower", "+23.9 %"),
        (turned(CLEAR), "higher", "−23.9 %"),
    )
    for pair, direction, text in cases:
        line = line_of(pair, direction)
        assert line is not None
        assert line.told == text
    assert line_of(EARLY, "higher") is None
    assert told(1.0, "higher") == "0.0 %"
    assert told(18.5, "higher", 0) == "+1,750 %"
    assert told(1.9, "lower", 0) == "−90 %"
    assert told(2.31, "lower", 0) == "2.31× as much"


def test_two_systems_are_found_whichever_way_they_were_stored() -> None:
    found = pairs({"a": [1.0] * 6, "b": [2.0] * 6, "c": [4.0] * 6})
    for system, other, ratio in (("b", "a", 2), ("a", "b", 0.5), ("c", "b", 2)):
        pair = between(found, system, other)
        assert pair is not None
        assert (pair.system, pair.against, pair.ratio) == (system, other, pytest.approx(ratio))
    assert between(found, "a", "d") is None


def test_units_stand_in_the_head() -> None:
    assert with_unit("write", "GB/s") == "write, GB/s"
    assert with_unit("transactions", "/s") == "transactions/s"
    assert with_unit("files created, loop 2", "/s") == "files created/s, loop 2"
    assert (
        with_unit("transactions over 1 to 8 threads", "/s") == "transactions/s over 1 to 8 threads"
    )
    assert with_unit("mixed", "") == "mixed"


def test_the_last_dimension_runs_across() -> None:
    grid = grid_of(iozone(("ext4", "xfs"), 2, tests=("read",)).cells)
    assert grid is not None
    assert grid.rows == ("64 MiB", "256 MiB")
    assert grid.columns == ("4 KiB", "64 KiB", "1 MiB")
    assert grid.legend == "rows: file, columns: record"
    assert len(grid.places) == len(GRID)
    assert grid.places["256 MiB file, 64 KiB record"] == ("256 MiB", "64 KiB")
