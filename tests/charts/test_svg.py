"""The drawn picture: still, small, coloured by the page, and safe to put into it."""

import re
from xml.etree import ElementTree

import pytest

from support.judged import spoiled
from support.specimen import findings as specimen
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS, effects, order, ranking
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Chart
from tiltyard.charts.figures import interval_text, ratio_text
from tiltyard.charts.svg import to_svg
from tiltyard.charts.theme import LIGHT

HOSTILE = '<script>alert("1")</script>'


def suited(chart: Chart, findings: Findings) -> WorkloadFindings:
    """The first workload for which the chart is drawn."""
    return next(w for w in findings.workloads if chart.draw(findings, w, WIDE_PX) is not None)


def drawn(chart: Chart, findings: Findings, width_px: int = WIDE_PX) -> str:
    workload = suited(chart, findings)
    spec = chart.draw(findings, workload, width_px)
    assert spec is not None
    return to_svg(spec, chart.alt(findings, workload))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_is_well_formed_still_and_has_words(chart: Chart, findings: Findings) -> None:
    picture = drawn(chart, findings)
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert root.get("aria-label") == chart.alt(findings, suited(chart, findings))
    assert not re.findall(r"<script|<image|href=| id=|clip-path", picture)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_every_colour_is_a_variable_of_the_theme(chart: Chart, findings: Findings) -> None:
    picture = drawn(chart, findings)
    paints = set(re.findall(r'(?:fill|stroke)="([^"]*)"', picture)) - {"none", "transparent"}
    assert paints
    assert paints <= {f"var(--{name})" for name in LIGHT}


@pytest.mark.parametrize("width_px", [WIDE_PX, NARROW_PX])
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_fits_the_width_it_was_drawn_for(chart: Chart, findings: Findings, width_px: int) -> None:
    width = ElementTree.fromstring(drawn(chart, findings, width_px)).get("width")
    assert width is not None
    assert 0.85 * width_px <= float(width) <= 1.04 * width_px


def test_figures_are_printed_as_they_are(findings: Findings) -> None:
    picture = drawn(ranking.CHART, findings)
    for standing in findings.workloads[0].index.standings:
        if standing.comparison is not None:
            said = f"{ratio_text(standing.comparison)} ({interval_text(standing.comparison)})"
            assert said in picture


def test_every_block_is_a_dot(findings: Findings) -> None:
    dots = drawn(ranking.CHART, findings).count("<circle")
    assert dots == sum(
        len(standing.comparison.differences)
        for standing in findings.workloads[0].index.standings
        if standing.comparison is not None
    )


def test_a_spoiled_block_is_tinted(findings: Findings) -> None:
    tint = 'fill="var(--worse-2)"'
    assert tint not in drawn(order.CHART, findings)
    marked = findings.model_copy(update={"spoiled": spoiled(findings)})
    assert drawn(order.CHART, marked).count(tint) == len(spoiled(findings).blocks)


def test_effects_that_are_not_decided_are_hollow(findings: Findings) -> None:
    picture = drawn(effects.CHART, findings)
    verdicts = [effect.verdict for w in findings.workloads for effect in w.effects]
    assert picture.count('fill="var(--paper)"') == verdicts.count("undecided") > 0
    assert picture.count('fill="var(--ink)" stroke="var(--ink)"') == verdicts.count("faster") + (
        verdicts.count("slower")
    )


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_a_hostile_name_stays_text(chart: Chart, findings: Findings) -> None:
    workloads = [workload.name for workload in findings.workloads]
    hostile = specimen(("ext4", HOSTILE), blocks=6, workloads=workloads, tests=("write",))
    picture = drawn(chart, hostile)
    ElementTree.fromstring(picture)
    assert "<script" not in picture
