"""The order of trials: every trial at its place, and whether values moved with it."""

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Block, Paragraph
from tiltyard.report.pictures import figures


def order(findings: Findings) -> tuple[Block, ...]:
    """The sentences on drift, and a picture a workload."""
    return (
        *(Paragraph(drift.sentence) for drift in findings.drifts),
        *(
            figure
            for workload in findings.workloads
            for figure in figures(findings, workload, "order", workload.name)
        ),
    )
