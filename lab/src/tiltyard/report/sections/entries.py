"""Cells of tables: values, shares, ratios and intervals, verdicts, and the names of tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from tiltyard.analysis.line import Line, interval_text, line_in, marked_word, pooled, ratio_text
from tiltyard.analysis.model import (
    Cell,
    Comparison,
    Findings,
    Index,
    Pair,
    Summary,
    SystemFindings,
    WorkloadFindings,
)
from tiltyard.analysis.pairs import between
from tiltyard.analysis.statements.deltas import Crossing
from tiltyard.analysis.statements.numbers import coverage, p_number, percent_text
from tiltyard.analysis.verdict import Estimated, OtherAnalysis
from tiltyard.charts.figures import Measure
from tiltyard.report.document import Block, Column, Entry, Paragraph, Table
from tiltyard.units import digits_of, display_unit, format_duration, format_ratio

PLAIN_LEVEL: Final = 0.95
PLAIN_HEAD: Final = "95 % CI"


def slug(text: str) -> str:
    """``iozone in-cache, ext4`` → ``iozone-in-cache-ext4``; never empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Each name's slug; where two would be the same, the later one gets a number."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = own = slug(name)
        count = 1
        while own in taken:
            count += 1
            own = f"{base}-{count}"
        found[name] = own
        taken.add(own)
    return found


_slugs = lru_cache(slugs)


def place(findings: Findings, workload: WorkloadFindings) -> str:
    """What the ids of everything about one workload begin with."""
    return _slugs(findings.workload_names)[workload.name]


MISSING = Entry("–", quiet=True)
"""What stands where there is no value."""


@dataclass(frozen=True)
class Printing(Measure):
    """One unit for many values, so that they can be read against each other."""

    def entry(self, value: float | None, *, strong: bool = False, quiet: bool = False) -> Entry:
        """A value in base units as a cell of a table; a dash where there is none."""
        if value is None:
            return MISSING
        return Entry(self.number(value), value / self.factor, strong=strong, quiet=quiet)


def printing(
    shown: Cell | Index, values: Iterable[float], digits: int | None = None, *, widest: bool = False
) -> Printing:
    """As the source prints a metric; else in the unit of the smallest positive value.

    So no value loses its digits; with ``widest`` in that of the largest, as people say a rank.
    """
    if shown.printed is not None:
        return Printing(shown.printed.unit, shown.printed.factor, shown.printed.decimals)
    positive = [value for value in values if value > 0]
    size = (max if widest else min)(positive, default=0.0)
    factor, unit = display_unit(size, shown.shown_in)
    return Printing(unit, factor, None, digits or digits_of(shown.unit))


def summary_of(cell: Cell, system: str) -> Summary | None:
    """What is known of one system at one point."""
    return next((found for found in cell.summaries if found.system == system), None)


def system_entry(name: str, *, quiet: bool = False) -> Entry:
    """A system with its sign."""
    return Entry(name, kind="system", quiet=quiet)


def by_system(
    id: str,
    title: str,
    head: str,
    systems: Sequence[SystemFindings],
    rows: Iterable[tuple[Entry, Mapping[str, str]]],
    caption: str = "",
) -> Table:
    """Facts down, systems across; a dash where a system lacks the fact."""
    return Table(
        id=id,
        title=title,
        columns=(
            Column(head, figures=False),
            *(Column(system.name, figures=False) for system in systems),
        ),
        rows=tuple(
            (fact, *(Entry(values.get(system.name, "–")) for system in systems))
            for fact, values in rows
        ),
        caption=caption,
    )


def percent_entry(share: float | None, *, quiet: bool = False) -> Entry:
    """A share under a head with ``%``."""
    if share is None:
        return MISSING
    return Entry(percent_text(share).removesuffix(" %"), 100 * share, quiet=quiet)


def p_entry(p: float | None) -> Entry:
    """A p-value as a cell of a table."""
    return Entry(p_number(p), p) if p is not None else MISSING


def duration_entry(seconds: float) -> Entry:
    """A time that it took: ``1:15``; its number is in seconds."""
    return Entry(format_duration(seconds), seconds)


def count_entry(count: int, *, quiet: bool = False) -> Entry:
    """A whole number."""
    return Entry(f"{count:,}", float(count), quiet=quiet)


def ratio_entry(found: Estimated) -> Entry:
    """The estimate, with the digits that its interval supports."""
    told = _told(found)
    return Entry(ratio_text(told), told.ratio, strong=True)


def interval_entry(found: Estimated) -> Entry:
    """The interval as one cell; a dash where there is none."""
    told = _told(found)
    return Entry(interval_text(told), quiet=told.low is None)


def _told(found: Estimated) -> Estimated:
    """Of a comparison over too few studies for a verdict what stands beside "no verdict"."""
    return pooled(found) if isinstance(found, Comparison) else found


VISIBLE: Final = 0.02
"""Ratios nearer to each other than this read as the same."""


def values_apart(of: Cell | Index, system: str, against: str) -> float | None:
    """The ratio of the two values that are shown, where the one beside them is visibly another.

    Values follow from the ratios to the baseline (:func:`tiltyard.analysis.pairs.beside_ratios`);
    of two other systems the paired ratio need not be that of their values. Else ``None``.
    """
    found = between(of.comparisons, system, against)
    values = _shown(of)
    value, base = values.get(system), values.get(against)
    if found is None or not found.ratio or not value or not base:
        return None
    shown = value / base
    return shown if abs(shown / found.ratio - 1) > VISIBLE else None


def _shown(of: Cell | Index) -> dict[str, float]:
    """System → the value that stands in tables."""
    if isinstance(of, Index):
        return {standing.system: standing.value for standing in of.standings}
    return {summary.system: summary.value for summary in of.summaries}


def with_values(entry: Entry, text: str) -> Entry:
    """An entry with the ratio of the values beneath it, where that is another."""
    if not text:
        return entry
    return replace(entry, beneath="; ".join(filter(None, (entry.beneath, f"values: {text}"))))


def values_note(findings: Findings) -> str:
    """What the values are that stand beside ratios."""
    if not findings.planned:
        implied = any(
            own.own_value is not None
            for workload in findings.workloads
            for of in (workload.index, *workload.by_metric)
            for own in of.standings
        ) or any(
            own.beside_ratio is not None
            for workload in findings.workloads
            for cell in workload.cells
            for own in cell.summaries
        )
        times = f"; with replicates that of {findings.baseline} × the ratio" if implied else ""
        return f"Values of the source{times}."
    return f"Values: of {findings.baseline} the median over blocks; of others that × the ratio."


def verdict_entry(comparison: Comparison | OtherAnalysis, findings: Findings) -> Entry:
    """The verdict with its sign."""
    word = marked_word(comparison, findings)
    return Entry(word, kind="verdict", verdict=comparison.verdict)


def interval_head(levels: Iterable[float]) -> str:
    """Head of a column of intervals: the level where all have the usual one."""
    return PLAIN_HEAD if {*levels} <= {PLAIN_LEVEL} else "interval"


def levels_above(levels: Iterable[float]) -> str:
    """The levels beyond the usual one: ``98.3 %``, ``97.5 % to 99.1 %``, or nothing."""
    above = sorted(level for level in levels if level > PLAIN_LEVEL)
    return " to ".join(dict.fromkeys(map(coverage, (*above[:1], *above[-1:]))))


def levels_note(levels: Iterable[float], rate: float | None = None) -> tuple[Block, ...]:
    """Where intervals are wider than usual, and why.

    Args:
        levels: of each interval alone.
        rate: the false coverage rate of those that were selected; ``None``: they are simultaneous.
    """
    above = levels_above(levels)
    if not above:
        return ()
    text = "Simultaneous 95 % confidence intervals."
    if rate is not None:
        text = (
            "Intervals of differences that were selected from many are selection-adjusted: at most "
            f"{100 * rate:g} % of them are expected to miss (false coverage rate)."
        )
    return (Paragraph(f"{text} The level of each alone is {above}.", "note"),)


def without_empty_columns(table: Table) -> Table:
    """The table without columns in which nothing stands: no intervals, no blocks.

    Columns that its charts name have values, so their places stay; so do all heads where there is
    no row: no system has a value that can be told.
    """
    if not table.rows:
        return table
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


CAPTION = (
    "Delta: improvement in % (higher rate or lower time), paired within blocks where there are "
    "blocks; beneath it the interval, where values were repeated."
)


def line_entry(line: Line | None) -> Entry:
    """The percentage, beneath it its interval, with the sign of its verdict."""
    if line is None:
        return MISSING
    return _judged(line, line.interval) if line.interval else Entry(line.text, line.value)


def _judged(line: Line, beneath: str) -> Entry:
    decided = line.verdict not in ("undecided", "invalid")
    return Entry(
        line.text,
        line.value,
        beneath=beneath,
        kind="verdict",
        verdict=line.verdict,
        strong=decided,
        quiet=not decided,
    )


def delta_of(findings: Findings, of: Cell | Index, pair: Pair | None) -> Entry:
    """A pair in a cell or an index; a dash where it was not compared."""
    line = pair and line_in(findings, of, pair)
    if not line:
        return MISSING
    apart = values_apart(of, line.pair.system, line.pair.against)
    text = (
        ""
        if apart is None
        else replace(line, ratio=apart, low=None, high=None, digits=line.decimals).text
    )
    return with_values(line_entry(line), text)


def advantage_of(findings: Findings, of: Cell | Index, pair: Pair) -> Entry:
    """The same with the ratio and its interval beneath it."""
    line = line_in(findings, of, pair)
    if line is None:
        return MISSING
    beneath = ratio_text(line) + (f" ({interval_text(line)})" if line.interval else "")
    apart = values_apart(of, *pair.sides)
    return with_values(_judged(line, beneath), "" if apart is None else format_ratio(apart))


def delta_columns(crossed: Crossing) -> tuple[Column, ...]:
    """A column for each level and group: what the level is worth over the base there."""
    return tuple(
        Column(group or "delta", "%", under=f"{level} over {crossed.base}")
        for level in crossed.levels[1:]
        for group in crossed.groups
    )


def delta_entries(
    findings: Findings, crossed: Crossing, of: Cell | Index, block: str
) -> tuple[Entry, ...]:
    """The entries under :func:`delta_columns`."""
    return tuple(
        delta_of(findings, of, crossed.pair(level, block, group))
        for level in crossed.levels[1:]
        for group in crossed.groups
    )
