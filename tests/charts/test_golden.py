"""Every chart's specification, against a file that a person has looked at.

``TILTYARD_UPDATE_GOLDEN=1 pytest tests/charts`` writes the files anew; read the difference.
"""

import json
import os
from pathlib import Path

import pytest

from support.drawings import NAMES, drawings
from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import WIDE_PX

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("TILTYARD_UPDATE_GOLDEN") == "1"
DRAWN = {
    "measured": (
        "iozone-ranking",
        "iozone-overview",
        "iozone-differences",
        "iozone-values",
        "iozone-bars",
        "iozone-order",
        "iozone-groups",
        "iozone-cells",
        "iozone-means",
        "iozone-families",
        "postmark-ranking",
        "postmark-effects",
        "postmark-bars",
        "postmark-order",
        "postmark-groups",
        "postmark-cells",
        "postmark-means",
        "tcp_rr-ranking",
        "tcp_rr-curves",
        "tcp_rr-percentiles",
        "tcp_rr-order",
        "tcp_rr-groups",
        "tcp_rr-cells",
        "tcp_rr-means",
        "tests",
        "relatives",
        "wins",
        "radar",
    ),
    "grids": ("in-cache-ranking", "in-cache-surfaces", "in-cache-families"),
    "messages": ("TCP_STREAM-curves", "TCP_RR-groups", "relatives"),
    "tests": ("iozone-overview", "iozone-bars", "iozone-means", "compile-groups", "wins"),
}
"""All pictures of what was measured: of a map, a single value, a course, and of all together. Of
printed studies those in which units, long names, groups and whiskers show."""
CASES = [(study, name) for study, names in DRAWN.items() for name in names]


@pytest.mark.parametrize(("study", "name"), CASES)
def test_specification_is_as_before(studies: dict[str, Findings], study: str, name: str) -> None:
    drawing = next(one for one in drawings(studies[study]) if one.name == name)
    found = {"alt": drawing.alt(), "specification": portable(drawing.draw(WIDE_PX))}
    path = GOLDEN / f"{study}-{name}.json"
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(path.read_text())


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {
        f"{study}-{name}" for study, name in CASES
    }


def test_each_workload_has_the_charts_that_suit_it(studies: dict[str, Findings]) -> None:
    drawn = [drawing.name for drawing in drawings(studies["measured"])]
    assert sorted(drawn) == sorted(DRAWN["measured"])


def test_every_kind_of_chart_has_a_golden_file() -> None:
    assert {name.split("-")[-1] for _, name in CASES} == set(NAMES)


def portable(spec: object) -> object:
    """Numbers to nine digits: the last bits differ between mathematics libraries."""
    return json.loads(json.dumps(spec), parse_float=lambda digits: float(f"{float(digits):.9g}"))
