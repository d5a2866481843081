"""Blocks that gates have spoiled: why, of whom, and whether it matters."""

from tiltyard.analysis.model import Findings, Spoiled
from tiltyard.report.document import Block, Column, Entry, Paragraph, Table
from tiltyard.report.sections.printing import count_entry, p_text, system_entry

RELATED = 0.01
"""Level from which on interference is said to go with a system."""


def spoiled(findings: Findings) -> tuple[Block, ...]:
    """Everything about spoiled blocks; nothing where none was."""
    found = findings.spoiled
    if found is None:
        return ()
    return (
        Paragraph(found.sentence, "lead"),
        Paragraph(
            "Whether a block is spoiled was decided from the host's telemetry alone, by limits "
            "that were frozen before the first trial. Every trial of it is kept below.",
            "quiet",
        ),
        _reasons(found),
        *_by_system(found),
        *_sensitivity(found),
    )


def _reasons(found: Spoiled) -> Table:
    return Table(
        id="spoiled-blocks",
        title="Why",
        columns=(Column("block"), Column("Why", figures=False)),
        rows=tuple(
            (count_entry(block), Entry("; ".join(reasons)))
            for block, reasons in found.reasons.items()
        ),
    )


def _by_system(found: Spoiled) -> tuple[Block, ...]:
    if not found.by_system:
        return ()
    table = Table(
        id="spoiled-by-system",
        title="By system",
        columns=(Column("System", figures=False), Column("blocks that a trial of it spoiled")),
        rows=tuple(
            (system_entry(system), count_entry(count)) for system, count in found.by_system.items()
        ),
    )
    if found.related_p is None:
        return (table,)
    told = f"Fisher's exact test of spoiling against system: p = {p_text(found.related_p)}"
    if found.related_p < RELATED:
        told += "; interference is related to the system: take it as a result, not as noise"
    return (table, Paragraph(f"{told}.", "note"))


def _sensitivity(found: Spoiled) -> tuple[Block, ...]:
    if not found.sensitivity:
        return ()
    return (
        Table(
            id="spoiled-sensitivity",
            title="With the spoiled blocks put back",
            columns=(
                Column("Comparison", figures=False),
                Column("without them", figures=False),
                Column("with them", figures=False),
                Column("Verdict", figures=False),
            ),
            rows=tuple(
                (
                    Entry(line.label, strong=True),
                    Entry(line.without),
                    Entry(line.with_spoiled),
                    Entry(
                        "another one" if line.changed else "the same",
                        strong=line.changed,
                        quiet=not line.changed,
                    ),
                )
                for line in found.sensitivity
            ),
        ),
    )
