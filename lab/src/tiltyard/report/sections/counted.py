"""How often: who is better in how many tests and cells, who is first, how far values lie apart."""

from collections.abc import Iterator, Sequence

from tiltyard.analysis.claims.counts import Count
from tiltyard.analysis.claims.kinds.ahead import over_cells, over_lines
from tiltyard.analysis.claims.kinds.deviation import share_text
from tiltyard.analysis.claims.kinds.first import firsts
from tiltyard.analysis.claims.kinds.level import over_levels
from tiltyard.analysis.claims.spread import spreads
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.ids import place
from tiltyard.report.sections.printing import count_entry, system_entry


def tests_table(findings: Findings) -> Table | None:
    """Pairs of the first factor over all tests, levels last; ``None`` if there are none."""
    pairs, levels = over_lines(findings), over_levels(findings)
    found = [*pairs, *levels]
    if not found:
        return None
    return Table(
        id="tests-better",
        title="In how many tests one system is better",
        columns=_columns("tests"),
        rows=(*map(_row, pairs), *(_row(own, level=True) for own in levels)),
        caption=_caption(found),
        closing=len(levels) if pairs else 0,
    )


def cells_table(findings: Findings, workload: WorkloadFindings) -> Table | None:
    """Pairs of the first factor over the cells of a workload; ``None`` where it has one."""
    found = over_cells(findings, workload)
    if not found:
        return None
    return Table(
        id=f"{place(findings, workload)}-better",
        title=f"{workload.name}: in how many cells one system is better",
        columns=_columns("cells"),
        rows=tuple(_row(own) for own in found),
        caption=_caption(found),
    )


def firsts_table(findings: Findings) -> Table | None:
    """Systems down, workloads across: cells in which each is first; ``None`` without cells."""
    found = [(w, own) for w in findings.workloads if (own := firsts(findings, w))]
    if not found:
        return None
    return Table(
        id="cells-first",
        title="In how many cells each system is first",
        columns=(
            Column("System", figures=False),
            *(Column(workload.name, "cells") for workload, _ in found),
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
                "bar", 0, tuple(range(1, 1 + len(found))), "First in how many cells", "cells"
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
        title="How far values lie apart",
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
                Entry(own.workload),
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
        Column("neither", of),
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
        count_entry(own.open, quiet=not own.open),
        count_entry(own.of),
        Entry(own.least.text, own.least.percent),
        _where(own.least_at),
        Entry(own.most.text, own.most.percent),
        _where(own.most_at),
    )


def _where(place: str) -> Entry:
    """A place on two lines: the first thing about it, then the rest."""
    first, _, rest = place.partition(", ")
    return Entry(first, beneath=rest, quiet=True)


def _caption(found: Sequence[Count]) -> str:
    return " ".join(dict.fromkeys(_basis(found)))


def _basis(found: Sequence[Count]) -> Iterator[str]:
    if any(own.repeated for own in found):
        yield "Better and worse: by verdict."
    if any(not own.repeated for own in found):
        yield "Nothing was repeated: better and worse by single numbers, chance not excluded."
