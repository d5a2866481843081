"""What a sceptic would ask: notices, what stays undecided, and the twelve rules of reporting."""

from typing import Literal

from tiltyard.analysis.model import Findings
from tiltyard.analysis.rules import rules
from tiltyard.report.document import (
    Block,
    Callout,
    Column,
    Entry,
    Fold,
    Paragraph,
    Sentences,
    Table,
)
from tiltyard.report.judgement import undecided

_TITLES: dict[Literal["problem", "warning", "note"], str] = {
    "problem": "Problems",
    "warning": "Warnings",
    "note": "Worth knowing",
}


def limits(findings: Findings) -> tuple[Block, ...]:
    """A box with every notice, the gravest first; then what stays undecided."""
    return (*box(findings), *open_comparisons(findings))


def box(findings: Findings) -> tuple[Block, ...]:
    """All notices, a box a severity; of results from elsewhere they are the limits."""
    if not findings.notices:
        return (Paragraph("The analysis found nothing to warn of."),)
    boxes = []
    for severity, title in _TITLES.items():
        told = tuple(
            " ".join(filter(None, (notice.text, notice.advice)))
            for notice in findings.notices
            if notice.severity == severity
        )
        if told and findings.origin:
            boxes.append(Callout("limits", "Limits of these data", (Sentences(told),)))
        elif told:
            boxes.append(Callout(severity, title, (Sentences(told),)))
    return tuple(boxes)


def open_comparisons(findings: Findings) -> tuple[Block, ...]:
    """What stays undecided, and how many blocks it would take."""
    found = undecided(findings)
    if not found:
        return ()
    told = Sentences(tuple(pair.sentence for pair in found))
    how = "" if findings.origin else f", and how many {findings.design.unit}s it would take"
    return (Fold(f"What stays undecided{how} ({len(found)})", (told,)),)


def twelve_rules(findings: Findings) -> tuple[Block, ...]:
    """How this very report meets the rules of Hoefler and Belli: a line a rule."""
    return (
        Table(
            id="twelve-rules",
            title="The twelve rules of Hoefler and Belli",
            columns=(
                Column("rule"),
                Column("What it asks for", figures=False),
                Column("Here", figures=False),
                Column("How", figures=False),
            ),
            rows=tuple(
                (
                    Entry(str(rule.number), float(rule.number), quiet=True),
                    Entry(rule.rule[0].upper() + rule.rule[1:]),
                    Entry(
                        rule.outcome,
                        strong=rule.outcome == "not met",
                        quiet=rule.outcome == "does not apply",
                    ),
                    Entry(rule.sentence),
                )
                for rule in rules(findings)
            ),
            caption="T. Hoefler and R. Belli, “Scientific Benchmarking of Parallel Computing "
            "Systems”, SC 2015; the rules in our words. Whether one is met follows from what is "
            "in the findings.",
        ),
    )
