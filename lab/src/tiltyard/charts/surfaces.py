"""The surfaces of all systems beside each other, to one scale and from one side."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, series
from tiltyard.charts.extremes import spans
from tiltyard.charts.surface import panels_of

_GAP_PX = 24
_ROOMY_PX = 600


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Two abreast where there is room."""
    columns = 2 if width_px >= _ROOMY_PX else 1
    panel_px = (width_px - _GAP_PX * (columns - 1)) // columns
    panels = [
        panel
        for place, system in enumerate(series(findings))
        for panel in panels_of(workload, system, panel_px, noted=place == 0)
    ]
    if not panels:
        return None
    return {
        "padding": 2,
        "columns": columns,
        "spacing": {"row": 18, "column": _GAP_PX - 12},
        "concat": panels,
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """The span of each system."""
    told = " ".join(f"{system}: {spans(workload, system)}" for system in series(findings))
    return f"{workload.name}, a surface over the grid for each system. {told}"


CHART = Chart(
    name="surfaces",
    place="chosen",
    title="The surfaces",
    caption="Heights are values, from zero, to one scale. The lower end of each dimension stands "
    "in front, so that little is hidden. For exact values read the maps or the tables.",
    draw=draw,
    alt=alt,
)
