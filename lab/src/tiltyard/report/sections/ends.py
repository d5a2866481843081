"""What the two ends of a network saw: facts down, systems across."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Block, Column, Entry, Table
from tiltyard.report.sections.ids import place, slug


def ends(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """A table for each end."""
    return tuple(
        Table(
            id=f"{place(findings, workload)}-{slug(end)}-end",
            title=f"What the {end} end saw",
            columns=(
                Column(f"{end} end", figures=False),
                *(Column(system.name, figures=False) for system in findings.systems),
            ),
            rows=tuple(
                (
                    Entry(fact, quiet=True),
                    *(Entry(values.get(system.name, "–")) for system in findings.systems),
                )
                for fact, values in facts.items()
            ),
            caption="Medians over blocks; each trial as a whole. Buffers of sockets as the kernel "
            "counts them: twice what is asked for.",
        )
        for end, facts in workload.ends.items()
    )
