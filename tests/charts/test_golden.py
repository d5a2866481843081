"""Every chart's specification, against a file that a person has looked at.

``TILTYARD_UPDATE_GOLDEN=1 pytest tests/charts`` writes the files anew; read the difference.
"""

import json
import os
from pathlib import Path

import pytest

from tiltyard.analysis.model import Findings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import WIDE_PX, Chart

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("TILTYARD_UPDATE_GOLDEN") == "1"
DRAWN = {
    "iozone": ("ranking", "overview", "differences", "values", "bars", "order"),
    "postmark": ("ranking", "effects", "bars", "order"),
    "tcp_rr": ("ranking", "curves", "order"),
}
"""What is drawn for a map, for a single value, and for a course along one dimension."""
CASES = [
    (chart, name) for name, charts in DRAWN.items() for chart in CHARTS if chart.name in charts
]


@pytest.mark.parametrize(("chart", "name"), CASES, ids=lambda case: getattr(case, "name", case))
def test_specification_is_as_before(findings: Findings, chart: Chart, name: str) -> None:
    workload = next(w for w in findings.workloads if w.name == name)
    found = {
        "alt": chart.alt(findings, workload),
        "specification": portable(chart.draw(findings, workload, WIDE_PX)),
    }
    path = GOLDEN / f"{name}-{chart.name}.json"
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(path.read_text())


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {
        f"{name}-{chart.name}" for chart, name in CASES
    }


@pytest.mark.parametrize("name", DRAWN)
def test_each_workload_has_the_charts_that_suit_it(findings: Findings, name: str) -> None:
    workload = next(w for w in findings.workloads if w.name == name)
    drawn = (c.name for c in CHARTS if c.draw(findings, workload, WIDE_PX) is not None)
    assert tuple(drawn) == DRAWN[name]


def portable(spec: object) -> object:
    """Numbers to nine digits: the last bits differ between mathematics libraries."""
    return json.loads(json.dumps(spec), parse_float=lambda digits: float(f"{float(digits):.9g}"))
