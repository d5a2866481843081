"""Rules for every picture of every kind, of what was measured and of what was printed."""

import re
from xml.etree import ElementTree

import pytest
import vl_convert

from support.across import pooled_studies
from support.drawings import NAMES, Drawing, beyond, drawings, ink, overlaps
from support.in_print import printed_grids, printed_tests
from support.pictured import measured
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, AnyChart
from tiltyard.charts.svg import to_paper, to_svg
from tiltyard.charts.theme import LIGHT
from tiltyard.report.styles import STYLES

STUDIES = ("measured", "grids", "messages", "tests", "pooled")
SQUARE = {"surfaces"}
"""As wide as they are high: they need not fill the width."""
HOSTILE = '<script>alert("1")</script>'


def picture_of(drawing: Drawing, width_px: int) -> str:
    """The SVG for pages."""
    spec = drawing.draw(width_px)
    assert spec is not None, f"{drawing.name} is drawn wide and not narrow"
    return to_svg(spec, drawing.alt())


@pytest.mark.parametrize("width_px", [WIDE_PX, NARROW_PX])
@pytest.mark.parametrize("study", STUDIES)
def test_is_still_fits_and_nothing_stands_on_anything(
    studies: dict[str, Findings], study: str, width_px: int
) -> None:
    paints = {f"var(--{name})" for name in LIGHT} | {"none", "transparent"}
    for drawing in drawings(studies[study]):
        name, picture = drawing.name, picture_of(drawing, width_px)
        root = ElementTree.fromstring(picture)
        width = float(root.get("width") or 0)
        least = 0 if drawing.chart in SQUARE else 0.85 * width_px
        assert least <= width <= 1.04 * width_px, name
        assert not re.findall(r"<script|<image|href=| id=|clip-path", picture), name
        assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', picture)) <= paints, name
        assert not overlaps(picture), name
        assert not beyond(picture), name


def test_every_kind_of_chart_is_drawn(studies: dict[str, Findings]) -> None:
    drawn = {drawing.chart for study in studies.values() for drawing in drawings(study)}
    assert drawn == set(NAMES)


@pytest.mark.parametrize("chart", CHARTS, ids=NAMES)
def test_every_chart_hangs_where_its_file_says(hung: dict[str, set[str]], chart: AnyChart) -> None:
    for place in chart.places:
        style = place.partition(" ")[0]
        assert chart.name in hung[style if style in hung else "study"], place


@pytest.fixture(scope="module")
def hung(studies: dict[str, Findings]) -> dict[str, set[str]]:
    """The parts of the names of all pictures that each style has."""
    return {
        style.name: {
            part
            for findings in studies.values()
            for figure in style.compose(findings).figures()
            for part in figure.id.split("-")
        }
        for style in STYLES
    }


@pytest.mark.parametrize("study", STUDIES)
def test_words_stand_for_it(studies: dict[str, Findings], study: str) -> None:
    for drawing in drawings(studies[study]):
        told = drawing.alt()
        assert len(told) > 20, drawing.name
        assert "nan" not in told, drawing.name


@pytest.mark.parametrize("name", NAMES)
def test_something_is_seen(studies: dict[str, Findings], name: str) -> None:
    drawing = next(
        drawing
        for study in studies.values()
        for drawing in drawings(study)
        if drawing.chart == name
    )
    spec = drawing.draw(NARROW_PX)
    assert spec is not None
    assert ink(vl_convert.svg_to_png(to_paper(spec).svg)) > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_stays_text(hostile: list[Drawing], name: str) -> None:
    drawing = next(drawing for drawing in hostile if drawing.chart == name)
    picture = picture_of(drawing, WIDE_PX)
    ElementTree.fromstring(picture)
    assert "<script" not in picture


@pytest.fixture(scope="module")
def hostile() -> list[Drawing]:
    """Pictures of all kinds of a study in which a system has a name that browsers would run."""
    printed = analyse_collection(printed_grids(("ext4", HOSTILE)))
    tests = analyse_collection(printed_tests(HOSTILE))
    return [
        drawing
        for findings in (measured(("ext4", HOSTILE)), printed, tests, pooled_studies(HOSTILE))
        for drawing in drawings(findings)
    ]
