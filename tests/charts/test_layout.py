"""Names that fit and differ, rows in groups, tones in equal ratios."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.in_print import printed_tests
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.charts.grid import Grid
from tiltyard.charts.letters import fitted, told_apart, width_em
from tiltyard.charts.maps import Map, Strip, Tile, small_multiples
from tiltyard.charts.means import kind_of
from tiltyard.charts.percentiles import share_text
from tiltyard.charts.radar import place_at
from tiltyard.charts.rows import Rows, rows_of
from tiltyard.charts.scales import round_ticks
from tiltyard.charts.sequence import TONES, Sequence, sequence_of
from tiltyard.charts.spread import spread_of

LONG = [
    "Red Hat Enterprise Linux 6, out-of-box",
    "Red Hat Enterprise Linux 6, optimized",
    "Microsoft Windows Server 2012, out-of-box",
]


@settings(deadline=None)
@given(st.text(min_size=1), st.floats(20, 300))
def test_a_name_has_the_room_it_is_given(name: str, room_px: float) -> None:
    assert 12 * width_em(fitted(name, room_px)) <= room_px


@pytest.mark.parametrize("room_px", [90, 120, 180, 400])
def test_names_that_begin_alike_are_told_apart(room_px: float) -> None:
    shown = told_apart(LONG, room_px)
    assert list(shown) == LONG
    assert len(set(shown.values())) == len(LONG)
    assert all(12 * width_em(text) <= room_px for text in shown.values())


def test_names_that_fit_stay_as_they_are() -> None:
    assert told_apart(["ext4", "xfs"], 100) == {"ext4": "ext4", "xfs": "xfs"}


def test_systems_are_grouped_by_their_first_factor() -> None:
    rows = rows_of(analyse_collection(printed_tests()))
    assert [(row.head, row.label) for row in rows] == [
        ("Linux 3.12", "Btrfs"),
        ("Linux 3.12", "XFS"),
        ("Linux 3.13", "Btrfs"),
        ("Linux 3.13", "XFS"),
    ]


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
def test_rows_stand_below_each_other_and_groups_apart(width_px: int) -> None:
    layout = Rows(rows_of(analyse_collection(printed_tests())), 20, width_px)
    first, second, third, fourth = layout.places.values()
    assert second - first == fourth - third == 20
    assert third - second > 20
    assert layout.height_px == fourth + 10
    assert layout.labels_px < 0.5 * width_px


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=40))
def test_more_is_never_a_fainter_tone(values: list[float]) -> None:
    scale = sequence_of(values)
    tones = [scale.tone(value) for value in sorted(values)]
    assert tones == sorted(tones)
    assert set(tones) <= {f"amount-{step}" for step in range(1, TONES + 1)}


def test_tones_change_in_equal_ratios() -> None:
    scale = Sequence(1, 32)
    assert [scale.tone(value) for value in (0, 1, 1.9, 2.1, 4.1, 8.1, 16.1, 32)] == [
        f"amount-{step}" for step in (1, 1, 1, 2, 3, 4, 5, 5)
    ]


@settings(deadline=None)
@given(st.floats(1e-6, 1e12))
def test_ticks_are_round_and_reach_over_the_most(most: float) -> None:
    ticks = round_ticks(most)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] >= most * (1 - 1e-6)


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


def test_turns_go_clockwise_from_the_top() -> None:
    assert [place_at(turn, 10, 100) for turn in (0, 0.25, 0.5, 0.75)] == [
        (50, 40),
        (60, 50),
        (50, 60),
        (40, 50),
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
    maps = [
        Map("ext3", [Tile("all", "1 MiB", ["72,938.10", "72,938", "72,900"], "panel")]),
        Map("ext4", [Tile("all", "4 MiB", ["1,109,339.90", "1,109,340", "1,110,000"], "panel")]),
    ]
    for width_px, texts in ((600, 0), (300, 1)):
        (strip,) = small_multiples([Strip("write", maps)], grid, width_px)["vconcat"]
        shown = [value["text"] for one in strip["hconcat"] for value in one["data"]["values"]]
        assert shown == [one.tiles[0].texts[texts] for one in maps]
