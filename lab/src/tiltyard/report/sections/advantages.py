"""What one system is worth more than another, in percent: columns and entries of tables."""

from tiltyard.analysis.claims.crossing import Crossing
from tiltyard.analysis.claims.deltas import Delta, delta, unprinted_decimals
from tiltyard.analysis.model import Cell, Findings, Index, Pair
from tiltyard.report.document import Column, Entry
from tiltyard.report.sections.printing import MISSING

CAPTION = (
    "Delta: percent better, which is more of a rate and less of a time; beneath it its interval, "
    "where values were repeated."
)


def delta_entry(found: Delta | None) -> Entry:
    """The percentage, beneath it its interval, with the sign of its verdict."""
    if found is None:
        return MISSING
    if not found.interval:
        return Entry(found.text, found.percent)
    return Entry(
        found.text,
        found.percent,
        beneath=found.interval,
        kind="verdict",
        verdict=found.verdict,
        strong=found.verdict in ("faster", "slower", "equivalent"),
        quiet=found.verdict in ("undecided", "invalid"),
    )


def delta_of(findings: Findings, of: Cell | Index, pair: Pair | None) -> Entry:
    """A pair in a cell or an index; a dash where it was not compared."""
    if pair is None:
        return MISSING
    decimals = unprinted_decimals(findings)
    return delta_entry(delta(of.comparisons, pair, of.direction, decimals))


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
