"""Rows in groups, tones in equal ratios, whiskers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.in_print import printed_tests
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.charts.figures import kind_of, spread_of
from tiltyard.charts.grid import Grid
from tiltyard.charts.maps import TONES, Strip, Tile, edges_of, small_multiples
from tiltyard.charts.percentiles import share_text
from tiltyard.charts.rows import Rows, rows_of
from tiltyard.charts.theme import toned


def test_a_name_that_is_not_made_of_levels_is_printed() -> None:
    found = analyse_collection(printed_tests())
    renamed = found.model_copy(
        update={
            "systems": tuple(
                one.model_copy(update={"levels": {**one.levels, "file system": "native"}})
                for one in found.systems
            )
        }
    )
    assert [row.label for row in rows_of(renamed)] == [system.name for system in found.systems]


def test_one_factor_makes_no_groups(findings: Findings) -> None:
    assert [(row.head, row.label) for row in rows_of(findings)] == [
        ("", "ext4"),
        ("", "xfs"),
        ("", "btrfs"),
    ]


@pytest.mark.parametrize("width_px", [340, 800])
def test_rows_stand_below_their_heads_in_the_order_of_the_study(width_px: int) -> None:
    rows = rows_of(analyse_collection(printed_tests()))
    layout = Rows(rows, 20, width_px)
    view: Any = layout.view(200, [row.place for row in rows], [])
    assert view["facet"]["row"]["sort"] == ["Btrfs", "XFS"]
    assert view["spec"]["encoding"]["y"]["sort"] == [row.key for row in rows]
    assert layout.labels_px < 0.5 * width_px


def test_rows_without_heads_are_one_view(findings: Findings) -> None:
    view: Any = Rows(rows_of(findings), 20, 800).view(200, [], [])
    assert "facet" not in view
    assert view["encoding"]["y"]["sort"] == ["ext4", "xfs", "btrfs"]


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=40))
def test_tones_change_between_the_least_and_the_most(values: list[float]) -> None:
    edges = edges_of(values)
    assert len(edges) in (0, TONES - 1)
    assert edges == sorted(edges)
    assert all(min(values) <= edge <= max(values) for edge in edges)


def test_tones_change_in_equal_ratios() -> None:
    assert edges_of([0, 1, 32]) == pytest.approx([2, 4, 8, 16])
    assert edges_of([3, 3]) == []


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("write", "write tests"),
        ("record rewrite", "write tests"),
        ("freread", "read tests"),
        ("Read compiled", "read tests"),
        ("random mix", "other tests"),
        ("read/write", "other tests"),
    ],
)
def test_write_tests_stand_apart_from_read_tests(label: str, kind: str) -> None:
    assert kind_of(label) == kind


def test_percentiles_are_called_by_their_share() -> None:
    assert [share_text(name) for name in ("p50", "p99", "p999", "p9999")] == [
        "50 %",
        "99 %",
        "99.9 %",
        "99.99 %",
    ]


def test_a_whisker_is_the_best_that_is_known(findings: Findings) -> None:
    summary = findings.workloads[1].cells[0].summaries[0]
    known = spread_of(summary)
    assert known is not None
    assert (known.kind, known.low) == ("interval", summary.median_low)
    without = summary.model_copy(update={"median_low": None, "median_high": None})
    deviation = spread_of(without)
    assert deviation is not None
    assert deviation.kind == "sd"
    error = spread_of(without.model_copy(update={"se": 2.0}))
    assert error is not None
    assert (error.kind, error.high) == ("se", summary.mean + 2)
    assert spread_of(without.model_copy(update={"sd": None})) is None


def test_the_numbers_of_a_map_have_the_same_decimals() -> None:
    """A tile is not rounded because its own number happens to be long."""
    grid = Grid(rows=("all",), columns=("1 MiB", "4 MiB"), legend="record", places={})
    texts = {
        "ext3": ["72,938.10", "72,938", "72,900"],
        "ext4": ["1,109,339.90", "1,109,340", "1,110,000"],
    }
    tiles = [
        Tile(system, "all", "1 MiB", shown, {"tone": "panel"}) for system, shown in texts.items()
    ]
    for width_px, level in ((600, 0), (300, 1)):
        strips: Any = small_multiples([Strip("write", tiles, toned())], grid, list(texts), width_px)
        (strip,) = strips["vconcat"]
        shown = [datum["text"] for datum in strip["data"]["values"]]
        assert shown == [each[level] for each in texts.values()]
