"""How far values of one cell lie apart, as a share of their mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from tiltyard.analysis.model import Findings, WorkloadFindings


@dataclass(frozen=True)
class Spread:
    """One system's deviations over the cells of a workload."""

    workload: str
    system: str
    cells: int
    """That have a deviation."""
    least: float
    """Coefficient of variation: standard deviation / mean, a share."""
    middle: float
    most: float
    most_at: str


def spreads(findings: Findings) -> list[Spread]:
    """Workload by workload and system by system; without those that have no deviation."""
    return [own for workload in findings.workloads for own in _of(findings, workload)]


def _of(findings: Findings, workload: WorkloadFindings) -> Iterator[Spread]:
    for system in findings.systems:
        own = [
            (summary.sd / summary.mean, ", ".join(filter(None, (cell.label, cell.at_label))))
            for cell in workload.cells
            for summary in cell.summaries
            if summary.system == system.name and summary.sd is not None and summary.mean
        ]
        if own:
            shares = [share for share, _ in own]
            most, place = max(own)
            yield Spread(
                workload.name, system.name, len(own), min(shares), median(shares), most, place
            )
