"""The summary: every test a row, systems side by side, and what one is worth more than the other.

Where the levels of the first factor have no room beside each other, they stand below each other.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.analysis.claims.crossing import Crossing, crossing
from tiltyard.analysis.claims.lines import Line, lines
from tiltyard.analysis.model import Advantage, Findings
from tiltyard.charts.figures import alone, with_unit
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.advantages import (
    CAPTION,
    delta_columns,
    delta_entries,
    delta_of,
)
from tiltyard.report.sections.ids import slug
from tiltyard.report.sections.printing import MISSING, Printing, printing

_ABREAST: Final = 9
"""As many columns of figures have room on a page."""


def summary_table(findings: Findings) -> Table | None:
    """All tests and systems in one table; ``None`` as long as nothing was measured."""
    own, crossed = lines(findings), crossing(findings)
    if not own:
        return None
    units = [printed(line) for line in own]
    common = alone(units[0].unit) if len({unit.unit for unit in units}) == 1 else ""
    wide = len(crossed.groups) * (2 * len(crossed.levels) - 1) <= _ABREAST
    heads = _heads(crossed, common, wide=wide)
    values = _value_columns(crossed, common, wide=wide)
    rows = _wide_rows if wide else _long_rows
    return Table(
        id="summary",
        title="Summary of results",
        columns=(*heads, *values, *delta_columns(crossed)) if wide else (
            *heads, *values, *_long_deltas(crossed)
        ),
        rows=tuple(rows(findings, crossed, own, common)),
        caption=_caption(findings, own),
        charts=_charts(heads, values, common) if common else (),
    )  # fmt: skip


def factor_tables(findings: Findings) -> tuple[Table, ...]:
    """What the other factors are worth: a table a level, tests down, within what across."""
    if not lines(findings):
        return ()
    first = crossing(findings).factor
    return tuple(
        _of_factor(findings, own)
        for own in findings.advantages
        if own.factor != first and own.pairs
    )


def printed(line: Line) -> Printing:
    """In which unit the values of a line are printed."""
    return printing(line.of, line.values.values())


def _of_factor(findings: Findings, own: Advantage) -> Table:
    return Table(
        id=f"worth-{slug(own.factor)}-{slug(own.level)}",
        title=f"{own.factor}: {own.level} over {own.over}",
        columns=(
            Column("Test", figures=False),
            *(Column(pair.within or "delta", "%") for pair in own.pairs),
        ),
        rows=tuple(
            (Entry(line.head, strong=True), *(delta_of(findings, line.of, p) for p in own.pairs))
            for line in lines(findings)
        ),
        caption=CAPTION,
    )  # fmt: skip


def _heads(crossed: Crossing, common: str, *, wide: bool) -> tuple[Column, ...]:
    heads = [Column("Test", figures=False)]
    if len(crossed.blocks) > 1:
        heads.append(Column("Within", figures=False))
    if not wide:
        heads.append(Column(crossed.factor, figures=False))
    if not common:
        heads.append(Column("Unit", figures=False))
    return tuple(heads)


def _value_columns(crossed: Crossing, common: str, *, wide: bool) -> tuple[Column, ...]:
    if wide:
        return tuple(
            Column(level, common, under=group)
            for group in crossed.groups
            for level in crossed.levels
        )
    return tuple(Column(group or "value", common) for group in crossed.groups)


def _long_deltas(crossed: Crossing) -> tuple[Column, ...]:
    return tuple(
        Column(group or "delta", "%", under=f"over {crossed.base}") for group in crossed.groups
    )


def _wide_rows(
    findings: Findings, crossed: Crossing, own: Sequence[Line], common: str
) -> Iterator[tuple[Entry, ...]]:
    for block in crossed.blocks:
        for line in own:
            unit = printed(line)
            places = [(level, block, group) for group in crossed.groups for level in crossed.levels]
            yield (
                *_names(crossed, line, block),
                *((Entry(alone(unit.unit), quiet=True),) if not common else ()),
                *(_value(line, unit, crossed.systems.get(place)) for place in places),
                *delta_entries(findings, crossed, line.of, block),
            )


def _long_rows(
    findings: Findings, crossed: Crossing, own: Sequence[Line], common: str
) -> Iterator[tuple[Entry, ...]]:
    for block in crossed.blocks:
        for line in own:
            unit = printed(line)
            for level in crossed.levels:
                systems = [crossed.systems.get((level, block, g)) for g in crossed.groups]
                yield (
                    *_names(crossed, line, block),
                    Entry(level),
                    *((Entry(alone(unit.unit), quiet=True),) if not common else ()),
                    *(_value(line, unit, system) for system in systems),
                    *(
                        Entry("baseline", quiet=True)
                        if level == crossed.base
                        else delta_of(findings, line.of, crossed.pair(level, block, group))
                        for group in crossed.groups
                    ),
                )


def _names(crossed: Crossing, line: Line, block: str) -> tuple[Entry, ...]:
    head = Entry(line.head, strong=True)
    if len(crossed.blocks) == 1:
        return (head,)
    return head, Entry(block, beneath=", ".join(_members(crossed, block)))


def _members(crossed: Crossing, block: str) -> list[str]:
    """What the names of a block's systems say beyond their levels: ``NTFS``, ``ext4``."""
    found = []
    for (level, own, group), system in crossed.systems.items():
        if own == block:
            rest = set(f"{level} {block} {group}".split())
            found.append(" ".join(word for word in system.split() if word not in rest))
    return list(dict.fromkeys(filter(None, found)))


def _value(line: Line, unit: Printing, system: str | None) -> Entry:
    """A mean over different units has a delta, but no value."""
    if system is None or not line.of.unit:
        return MISSING
    return unit.entry(line.values.get(system))


def _caption(findings: Findings, own: Sequence[Line]) -> str:
    value = "Values of the source" if findings.origin else "Medians over blocks"
    mean = (
        "; where a test has several cells, their geometric mean"
        if any(line.cells > 1 for line in own)
        else ""
    )
    return f"{value}{mean}. {CAPTION}"


def _charts(
    heads: Sequence[Column], values: Sequence[Column], common: str
) -> tuple[SheetChart, ...]:
    columns = tuple(range(len(heads), len(heads) + len(values)))
    return (SheetChart("column", 0, columns, "Summary of results", with_unit("value", common)),)
