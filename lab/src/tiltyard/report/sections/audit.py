"""What a printed study claims, held against its own numbers: grouped by what came of it."""

from collections.abc import Sequence

from tiltyard.analysis.model import Findings
from tiltyard.collected.audited import Audited, Outcome
from tiltyard.report.document import Block, Column, Entry, Facts, Table
from tiltyard.report.sections.comparing import without_empty_columns

OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "contradicted": (
        "Contradicted",
        "No numbers that round to the printed ones give what it says.",
    ),
    "open": ("Left open", "The printed data cannot decide these."),
    "rounding": (
        "Within rounding",
        "Not to the last digit, but rounded numbers leave it possible.",
    ),
    "follows": ("Follows", "To the last printed digit."),
}
"""Outcome → title of its table, and what it means; the gravest first."""


def audit(findings: Findings) -> tuple[Block, ...]:
    """How many claims got which outcome, and a table for each; nothing without claims."""
    if not findings.audit:
        return ()
    groups = {
        outcome: [one for one in findings.audit if one.outcome == outcome] for outcome in OUTCOMES
    }
    counts = tuple(
        (OUTCOMES[outcome][0].lower(), str(len(found))) for outcome, found in groups.items()
    )
    return (
        Facts(counts, large=True),
        *(_table(outcome, found) for outcome, found in groups.items() if found),
    )


def _table(outcome: Outcome, found: Sequence[Audited]) -> Table:
    title, meaning = OUTCOMES[outcome]
    table = Table(
        id=f"audit-{outcome}",
        title=f"{title} ({len(found)})",
        columns=(
            Column("Where", figures=False),
            Column("Claim", figures=False),
            Column("stated", figures=False),
            Column("found", figures=False),
            Column("What follows", figures=False),
        ),
        rows=tuple(
            (
                Entry(one.where, quiet=True),
                Entry(one.claim),
                Entry(one.stated, strong=True),
                Entry(one.found or "–", strong=bool(one.found), quiet=not one.found),
                Entry(one.sentence),
            )
            for one in found
        ),
        caption=meaning,
    )
    return without_empty_columns(table)
