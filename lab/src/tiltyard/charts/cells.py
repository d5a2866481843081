"""Every cell of a workload as bars, with its spread and count: one test of a suite, one picture."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts.chart import WIDE_PX, Chart, Spec
from tiltyard.charts.groups import Bar, Bars, multiples, told
from tiltyard.charts.spread import replicates, spread_of

_MOST = 12
"""More cells than this are a grid, which other charts show better."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a cell."""
    found = _cells(workload)
    columns = 2 if width_px >= WIDE_PX else 1
    return multiples(findings, found, width_px, columns) if 0 < len(found) <= _MOST else None


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """Every value."""
    return f"{workload.name}, bars from zero. {told(_cells(workload))}"


def _cells(workload: WorkloadFindings) -> list[Bars]:
    return [
        Bars(
            label=", ".join(filter(None, (cell.label, cell.at_label))),
            of=cell,
            bars=tuple(
                Bar(own.system, own.median, spread_of(own), replicates(own))
                for own in cell.summaries
            ),
        )
        for cell in workload.cells
    ]


CHART = Chart(
    name="cells",
    place="chosen",
    title="Cell by cell",
    caption="Bars begin at zero; the value stands at the end of each, with the number N of "
    "measurements where it is known.",
    draw=draw,
    alt=alt,
)
