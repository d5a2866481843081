"""What did not go as the plan has it: spoiled, replaced, failed, stopped, resumed, not granted."""

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Block, Column, Entry, Paragraph, Sentences, Table
from tiltyard.report.judgement import blocks_run
from tiltyard.report.sections.printing import count_entry


def deviations(findings: Findings) -> tuple[Block, ...]:
    """Every deviation in a sentence, or that there was none; nothing where there was no plan."""
    if findings.origin:
        return ()
    told = _told(findings)
    if not told:
        return (Paragraph("The study was carried out as its plan has it."),)
    return (Sentences(told),)


def _told(findings: Findings) -> tuple[str, ...]:
    told = [findings.spoiled.sentence] if findings.spoiled else []
    if findings.stopped and not findings.complete:
        told.append(
            f"The run ended after {findings.blocks_done} of at most {findings.blocks_planned} "
            f"blocks: {findings.stopped}."
        )
    return (*told, *(notice.text for notice in findings.notices if notice.deviation))


def blocks_of_systems(findings: Findings) -> tuple[Block, ...]:
    """In how many blocks each system was run, where that is not the same for all."""
    counts = blocks_run(findings)
    if not counts:
        return ()
    return (
        Paragraph("What was decided at a look was not measured any further.", "quiet"),
        Table(
            id="blocks-run",
            title="Blocks in which each system was run",
            columns=(
                Column("Workload", figures=False),
                *(Column(system.name) for system in findings.systems),
            ),
            rows=tuple(
                (
                    Entry(workload, strong=True),
                    *(count_entry(own[system.name]) for system in findings.systems),
                )
                for workload, own in counts.items()
            ),
        ),
    )
