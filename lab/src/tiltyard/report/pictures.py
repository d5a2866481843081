"""Charts, drawn and ready to be hung in a page."""

from dataclasses import dataclass

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Chart, Place
from tiltyard.charts.svg import to_svg


@dataclass(frozen=True)
class Picture:
    """One chart of one workload, drawn for a desk and for a phone."""

    chart: Chart
    wide: str
    """SVG, ready to stand in HTML."""
    narrow: str


def hang(findings: Findings, workload: WorkloadFindings, place: Place) -> list[Picture]:
    """The pictures of a workload that hang in one room of the report."""
    return [
        Picture(chart, wide, narrow)
        for chart in CHARTS
        if chart.place == place
        if (wide := _drawn(chart, findings, workload, WIDE_PX)) is not None
        if (narrow := _drawn(chart, findings, workload, NARROW_PX)) is not None
    ]


def _drawn(
    chart: Chart, findings: Findings, workload: WorkloadFindings, width_px: int
) -> str | None:
    spec = chart.draw(findings, workload, width_px)
    return None if spec is None else to_svg(spec, chart.alt(findings, workload))
