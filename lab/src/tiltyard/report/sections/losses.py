"""Where the best system by estimate is the worse one."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts.figures import verdict_word
from tiltyard.report.document import Block, Column, Entry, Paragraph, Table
from tiltyard.report.judgement import interval_head
from tiltyard.report.sections.comparing import interval_entry, ratio_entry, verdict_entry
from tiltyard.report.sections.ids import place
from tiltyard.report.sections.printing import system_entry


def losses(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The cells in which it was found worse, or that there is none."""
    if not workload.index.standings:
        return ()
    best = workload.index.standings[0].system
    if not workload.losses:
        if len(workload.cells) < 2:
            return ()
        word = verdict_word("slower", findings.clock)
        text = f"{best}, first by estimate, was found {word} in no cell."
        return (Paragraph(text, "quiet"),)
    worse = "needs more" if findings.clock == "instructions" else "is slower"
    return (
        Table(
            id=f"{place(findings, workload)}-losses",
            title=f"Where {best}, first by estimate, {worse}",
            columns=(
                Column("Cell", figures=False),
                Column("against", figures=False),
                Column("ratio"),
                Column(interval_head(loss.comparison.level for loss in workload.losses)),
                Column("Verdict", figures=False),
            ),
            rows=tuple(
                (
                    Entry(loss.label, strong=True),
                    system_entry(loss.comparison.against),
                    ratio_entry(loss.comparison),
                    interval_entry(loss.comparison),
                    verdict_entry(loss.comparison, findings),
                )
                for loss in workload.losses
            ),
        ),
    )
