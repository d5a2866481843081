"""Curves: where levels, names and values stand, and what is joined."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.network_studies import MESSAGES, messages, network_study
from tiltyard.analysis.axes import Course, progress_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.charts import curves
from tiltyard.charts.chart import NARROW_PX, WIDE_PX
from tiltyard.charts.scales import apart, places_of, scale_of
from tiltyard.charts.svg import to_svg


def along(sizes: Sequence[int], receive: Sequence[int] = (0,)) -> Course:
    found = progress_of(messages(sizes, receive))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def findings() -> Findings:
    """A stream over messages, request/response with latency, buffers with auto, two cases."""
    workloads = ("tcp_stream", "tcp_rr", "receive_socket", "many_flows")
    return analyse(*network_study(workloads=workloads, blocks=7, effects={"optimized": 1.2}))


def drawn(findings: Findings, name: str, width_px: int = WIDE_PX) -> list[dict[str, Any]]:
    workload = next(w for w in findings.workloads if w.name == name)
    spec: Any = curves.draw(findings, workload, width_px)
    panels: list[dict[str, Any]] = spec["concat"]
    return panels


def test_sizes_stand_by_their_logarithm_and_65507_stays_itself() -> None:
    places = places_of(along(MESSAGES), 2)
    assert places.at[64] - places.at[32] == 1
    assert places.at[65_507] == pytest.approx(15.9994, abs=1e-4)
    assert places.texts[65_507] == "65,507"
    assert places.labelled(700) == list(MESSAGES)


@pytest.mark.parametrize("width_px", [60, 120, 240, 480])
def test_in_little_room_the_largest_level_keeps_its_label(width_px: int) -> None:
    labelled = places_of(along(MESSAGES), 2).labelled(width_px)
    assert labelled[-1] == 65_507
    assert len(labelled) < len(MESSAGES)


def test_auto_stands_beside_the_scale_and_is_not_joined(findings: Findings) -> None:
    places = places_of(along((4096,), (0, 8192, 16_384, 65_536)), 2)
    assert places.beside == {0}
    assert places.at[0] == places.at[8192] - 1
    (panel,) = drawn(findings, "receive_socket")
    line = panel["layer"][1]
    parts = [row["part"] for row in line["data"]["values"] if row["system"] == "optimized"]
    assert parts == ["beside"] + ["along"] * 5


def test_systems_stand_beside_each_other_and_nearer_than_levels() -> None:
    for systems in (2, 3, 7):
        places = places_of(along(MESSAGES), systems)
        own = [places.of(64, number) for number in range(systems)]
        assert len(set(own)) == systems
        assert own[-1] - own[0] < 0.4 * (places.at[128] - places.at[64])


@settings(deadline=None)
@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30))
def test_every_value_is_inside_the_scale(values: list[float]) -> None:
    scale = scale_of(values)
    assert all(scale.low <= value <= scale.high for value in values)
    for value in values:
        assert scale.apart({"alone": value}, 0.1) == {"alone": pytest.approx(value, rel=1e-6)}


def test_a_wide_range_is_drawn_by_ratios_and_a_narrow_one_from_zero() -> None:
    assert scale_of([1.0, 30.0]).logarithmic
    near = scale_of([10.0, 30.0])
    assert (near.logarithmic, near.low) == (False, 0.0)


@settings(deadline=None)
@given(st.dictionaries(st.text("abcdefg", min_size=1), st.floats(0, 1), max_size=9))
def test_names_stand_apart_and_inside(shares: dict[str, float]) -> None:
    moved = apart(shares, 0.06)
    stands = sorted(moved.values())
    assert all(b - a >= 0.06 - 1e-9 for a, b in pairwise(stands))
    assert all(-1e-9 <= stand <= 1 + 1e-9 for stand in stands)
    assert sorted(shares, key=shares.__getitem__) == sorted(moved, key=moved.__getitem__)


def test_every_block_is_a_point(findings: Findings) -> None:
    (panel,) = drawn(findings, "tcp_stream")
    points = panel["layer"][0]["data"]["values"]
    assert len(points) == 7 * 2 * len(MESSAGES)


def test_latency_has_a_panel_in_microseconds(findings: Findings) -> None:
    titles = [panel["title"]["text"] for panel in drawn(findings, "tcp_rr")]
    assert titles == ["transactions/s", "latency, µs (less is better)"]


def test_panels_of_one_metric_have_one_scale(findings: Findings) -> None:
    panels = drawn(findings, "many_flows")
    titles = [panel["title"]["text"] for panel in panels]
    assert titles == ["throughput received, 1 flow, Gbit/s", "throughput received, 8 flows, Gbit/s"]
    assert panels[0]["encoding"]["y"] == panels[1]["encoding"]["y"]


@pytest.mark.parametrize("width_px", [WIDE_PX, NARROW_PX])
def test_systems_are_named_at_their_lines(findings: Findings, width_px: int) -> None:
    workload = findings.workloads[0]
    spec = curves.draw(findings, workload, width_px)
    assert spec is not None
    picture = to_svg(spec, curves.alt(findings, workload))
    assert ">out-of-box<" in picture or ">out-of-b…<" in picture
    assert ">65,507<" in picture


def test_words_stand_for_the_picture(findings: Findings) -> None:
    told = curves.alt(findings, findings.workloads[0])
    assert told.startswith("tcp_stream over messages of 32 B to 65,507 B, medians. ")
    assert "out-of-box 411 Mbit/s to 9.27 Gbit/s" in told
    assert told.count(" to ") == 3
