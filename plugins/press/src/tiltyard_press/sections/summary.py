"""The summary of all tests, and in how many of them a system is better."""

from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.analysis.model import Advantage, Findings, WorkloadFindings
from tiltyard.analysis.statements.claims import (
    firsts,
    over_cells,
    over_levels,
    over_lines,
    share_text,
)
from tiltyard.analysis.statements.deltas import Count, Crossing, Row, crossing, rows, spreads
from tiltyard.charts.figures import alone, with_unit
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.entries import (
    CAPTION,
    MISSING,
    Printing,
    count_entry,
    delta_columns,
    delta_entries,
    delta_of,
    line_entry,
    place,
    printing,
    slug,
    system_entry,
    values_note,
    without_empty_columns,
)

_ABREAST: Final = 9
"""As many columns of figures have room on a page."""


def summary_table(findings: Findings) -> Table | None:
    """All tests and systems in one table; ``None`` as long as nothing was measured."""
    own, crossed = rows(findings), crossing(findings)
    if not own:
        return None
    units = [printed(row) for row in own]
    common = alone(units[0].unit) if len({unit.unit for unit in units}) == 1 else ""
    wide = len(crossed.groups) * (2 * len(crossed.levels) - 1) <= _ABREAST
    heads = _heads(crossed, common, wide=wide)
    values = _value_columns(crossed, common, wide=wide)
    printed_rows = _wide_rows if wide else _long_rows
    return Table(
        id="summary",
        title="Summary of results",
        columns=(*heads, *values, *delta_columns(crossed)) if wide else (
            *heads, *values, *_long_deltas(crossed)
        ),
        rows=tuple(printed_rows(findings, crossed, own, common)),
        caption=_caption(findings, own),
        charts=_charts(heads, values, common) if common else (),
    )  # fmt: skip


def factor_tables(findings: Findings) -> tuple[Table, ...]:
    """What the other factors are worth: a table a level, tests down, within what across."""
    if not rows(findings):
        return ()
    first = crossing(findings).factor
    return tuple(
        _of_factor(findings, own)
        for own in findings.advantages
        if own.factor != first and own.pairs
    )


def printed(row: Row) -> Printing:
    """In which unit the values of a row are printed."""
    return printing(row.of, row.values.values())


def _of_factor(findings: Findings, own: Advantage) -> Table:
    return Table(
        id=f"worth-{slug(own.factor)}-{slug(own.level)}",
        title=f"{own.factor}: {own.level} over {own.over}",
        columns=(
            Column("Test", figures=False),
            *(Column(pair.within or "delta", "%") for pair in own.pairs),
        ),
        rows=tuple(
            (Entry(row.head, strong=True), *(delta_of(findings, row.of, p) for p in own.pairs))
            for row in rows(findings)
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
    findings: Findings, crossed: Crossing, own: Sequence[Row], common: str
) -> Iterator[tuple[Entry, ...]]:
    for block in crossed.blocks:
        for row in own:
            unit = printed(row)
            places = [(level, block, group) for group in crossed.groups for level in crossed.levels]
            yield (
                *_names(crossed, row, block),
                *((Entry(alone(unit.unit), quiet=True),) if not common else ()),
                *(_value(row, unit, crossed.systems.get(place)) for place in places),
                *delta_entries(findings, crossed, row.of, block),
            )


def _long_rows(
    findings: Findings, crossed: Crossing, own: Sequence[Row], common: str
) -> Iterator[tuple[Entry, ...]]:
    for block in crossed.blocks:
        for row in own:
            unit = printed(row)
            for level in crossed.levels:
                systems = [crossed.systems.get((level, block, g)) for g in crossed.groups]
                yield (
                    *_names(crossed, row, block),
                    Entry(level),
                    *((Entry(alone(unit.unit), quiet=True),) if not common else ()),
                    *(_value(row, unit, system) for system in systems),
                    *(
                        Entry("baseline", quiet=True)
                        if level == crossed.base
                        else delta_of(findings, row.of, crossed.pair(level, block, group))
                        for group in crossed.groups
                    ),
                )


def _names(crossed: Crossing, row: Row, block: str) -> tuple[Entry, ...]:
    head = Entry(row.head, strong=True)
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


def _value(row: Row, unit: Printing, system: str | None) -> Entry:
    """A mean over different units has a delta, but no value."""
    if system is None or not row.of.unit:
        return MISSING
    return unit.entry(row.values.get(system))


def _caption(findings: Findings, own: Sequence[Row]) -> str:
    mean = (
        " Where a test has several cells, their geometric mean."
        if any(row.cells > 1 for row in own)
        else ""
    )
    differing = [one for workload in findings.workloads for one in workload.differing]
    told = f" The source rounds otherwise: {'; '.join(differing)}." if differing else ""
    return f"{values_note(findings)}{mean} {CAPTION}{told}"


def _charts(
    heads: Sequence[Column], values: Sequence[Column], common: str
) -> tuple[SheetChart, ...]:
    columns = tuple(range(len(heads), len(heads) + len(values)))
    return (SheetChart("column", 0, columns, "Summary of results", with_unit("value", common)),)


def tests_table(findings: Findings) -> Table | None:
    """Pairs of the first factor over all tests, levels last; ``None`` if there are none."""
    pairs, levels = over_lines(findings), over_levels(findings)
    found = [*pairs, *levels]
    if not found:
        return None
    table = Table(
        id="tests-better",
        title="Tests in which one system is better",
        columns=_columns("tests"),
        rows=(*map(_row, pairs), *(_row(own, level=True) for own in levels)),
        caption=_counted_caption(findings, found),
        closing=len(levels) if pairs else 0,
    )
    return without_empty_columns(table)


def cells_table(findings: Findings, workload: WorkloadFindings) -> Table | None:
    """Pairs of the first factor over the cells of a workload; ``None`` where it has one."""
    found = over_cells(findings, workload)
    if not found:
        return None
    table = Table(
        id=f"{place(findings, workload)}-better",
        title=f"{workload.display}: cells in which one system is better",
        columns=_columns("cells"),
        rows=tuple(_row(own) for own in found),
        caption=_counted_caption(findings, found),
    )
    return without_empty_columns(table)


def firsts_table(findings: Findings) -> Table | None:
    """Systems down, workloads across: cells in which each is first; ``None`` without cells."""
    found = [(w, own) for w in findings.workloads if (own := firsts(findings, w))]
    if not found:
        return None
    return Table(
        id="cells-first",
        title="Cells in which each system is first",
        columns=(
            Column("System", figures=False),
            *(Column(workload.display, "cells") for workload, _ in found),
        ),
        rows=(
            *(
                (system_entry(one.name), *(count_entry(own[one.name]) for _, own in found))
                for one in findings.systems
            ),
            (Entry("cells", strong=True), *(count_entry(len(w.cells)) for w, _ in found)),
        ),
        caption="By value alone; of equal values all are first.",
        closing=1,
        charts=(
            SheetChart(
                "bar",
                0,
                tuple(range(1, 1 + len(found))),
                "Cells in which a system is first",
                "cells",
            ),
        ),
    )  # fmt: skip


def spread_table(findings: Findings) -> Table | None:
    """Deviations as shares of the means; ``None`` where none is known."""
    found = spreads(findings)
    if not found:
        return None
    under = "standard deviation / mean"
    return Table(
        id="deviations",
        title="Spread of the values",
        columns=(
            Column("Workload", figures=False),
            Column("System", figures=False),
            Column("cells"),
            Column("least", "%", under=under),
            Column("median", "%", under=under),
            Column("most", "%", under=under),
            Column("where", figures=False, under=under),
        ),
        rows=tuple(
            (
                Entry(own.display),
                system_entry(own.system),
                count_entry(own.cells),
                Entry(share_text(own.least), 100 * own.least),
                Entry(share_text(own.middle), 100 * own.middle),
                Entry(share_text(own.most), 100 * own.most),
                _where(own.most_at if own.cells > 1 else ""),
            )
            for own in found
        ),
        caption="Of one system's values in one cell.",
    )


def _columns(of: str) -> tuple[Column, ...]:
    return (
        Column("System", figures=False),
        Column("Against", figures=False),
        Column("better", of),
        Column("worse", of),
        Column("equivalent", of),
        Column("undecided", of),
        Column("all", of),
        Column("least", "%", under="delta"),
        Column("where", figures=False, under="delta"),
        Column("most", "%", under="delta"),
        Column("where", figures=False, under="delta"),
    )


def _row(own: Count, *, level: bool = False) -> tuple[Entry, ...]:
    """A pair of systems; or of levels, which have no sign."""
    named = Entry if level else system_entry
    return (
        named(own.pair.system),
        named(own.pair.against),
        count_entry(own.better),
        count_entry(own.worse),
        count_entry(own.equivalent, quiet=not own.equivalent),
        count_entry(own.open - own.equivalent, quiet=own.open == own.equivalent),
        count_entry(own.of),
        line_entry(own.least),
        _where(own.least_at),
        line_entry(own.most),
        _where(own.most_at),
    )


def _where(place: str) -> Entry:
    """A place on two lines: the first thing about it, then the rest."""
    first, _, rest = place.partition(", ")
    return Entry(first, beneath=rest, quiet=True)


def _counted_caption(findings: Findings, found: Sequence[Count]) -> str:
    return " ".join(dict.fromkeys(_basis(findings, found)))


def _basis(findings: Findings, found: Sequence[Count]) -> Iterator[str]:
    if any(own.repeated for own in found):
        yield "By verdict; least and most: of the differences that are decided."
    if any(not own.repeated for own in found):
        margin = f"±{100 * findings.design.equivalent_within:g} %"
        yield (
            "Single values, no CI: better and worse by value beyond the equivalence margin "
            f"({margin}), equivalent within it; chance is not excluded."
        )
