"""Comparisons as cells of tables: ratio, interval, verdict; the same figures as in the pictures."""

from collections.abc import Iterable
from dataclasses import replace

from tiltyard.analysis.claims.deltas import percent
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.verdict import Beside
from tiltyard.charts.figures import (
    Estimated,
    advantage_text,
    interval_text,
    percent_better,
    ratio_text,
    verdict_word,
)
from tiltyard.report import judgement
from tiltyard.report.document import Block, Entry, Paragraph, Table
from tiltyard.report.sections.printing import MISSING


def ratio_entry(found: Estimated) -> Entry:
    """The estimate, with the digits that its interval supports."""
    return Entry(ratio_text(found), found.ratio, strong=True)


def interval_entry(found: Estimated) -> Entry:
    """The interval as one cell; a dash where there is none."""
    return Entry(interval_text(found), quiet=found.low is None)


def verdict_entry(comparison: Comparison | Beside, findings: Findings) -> Entry:
    """The verdict with its sign."""
    word = verdict_word(comparison.verdict, findings.clock)
    return Entry(word, kind="verdict", verdict=comparison.verdict)


def advantage_entry(comparison: Comparison | None, direction: Direction) -> Entry:
    """By how many percent it is better, with its verdict; beneath the ratio and its interval."""
    if comparison is None or comparison.ratio is None:
        return MISSING
    beneath = ratio_text(comparison)
    if comparison.low is not None:
        beneath += f" ({interval_text(comparison)})"
    return Entry(
        advantage_text(comparison, direction).removesuffix(" %"),
        percent(comparison.ratio, direction),
        beneath=beneath,
        kind="verdict",
        verdict=comparison.verdict,
        strong=comparison.verdict in ("faster", "slower", "equivalent"),
        quiet=comparison.verdict in ("undecided", "invalid"),
    )


def plain_advantage_entry(ratio: float, direction: Direction) -> Entry:
    """The same of a ratio that was not judged."""
    return Entry(percent_better(ratio, direction).removesuffix(" %"), percent(ratio, direction))


def levels_note(levels: Iterable[float], *, together: bool = False) -> tuple[Block, ...]:
    """Where intervals are wider than usual, and why: those of an index hold together."""
    above = judgement.levels_above(levels)
    if not above:
        return ()
    if together:
        text = (
            "These intervals hold together with 95 %, and the ranks with them; each by itself "
            f"covers with {above}."
        )
    else:
        text = (
            "Intervals cover with 95 %; those of differences that were found among many, with "
            f"{above}, so that of all that are claimed no more than 5 % are expected to miss "
            "(false coverage rate)."
        )
    return (Paragraph(text, "note"),)


def without_empty_columns(table: Table) -> Table:
    """The table without columns in which nothing stands: no intervals, no blocks.

    Columns that its charts name have values, so their places stay.
    """
    kept = [
        place
        for place in range(len(table.columns))
        if any(row[place].text not in ("", "–") for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )
