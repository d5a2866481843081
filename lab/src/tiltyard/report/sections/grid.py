"""A size × record map in numbers: a table a system and metric, the last dimension across."""

from collections.abc import Iterator

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.figures import alone, with_unit
from tiltyard.charts.grid import Grid, by_test, map_of
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import MISSING, Printing, printing

_FEWEST = 2
"""Rows and columns from which on a map has a table of its own."""


def grid_tables(findings: Findings, workload: WorkloadFindings) -> tuple[Table, ...]:
    """The values of each system in every cell of the map; none where there is no map."""
    grid = map_of(workload)
    if grid is None or min(len(grid.rows), len(grid.columns)) < _FEWEST:
        return ()
    return tuple(
        table
        for cells in by_test(workload.cells)
        for table in _of_metric(findings, workload, cells, grid)
    )


def _of_metric(
    findings: Findings, workload: WorkloadFindings, cells: list[Cell], grid: Grid
) -> Iterator[Table]:
    values = [s.median for cell in cells for s in cell.summaries]
    printed = printing(cells[0], values, 4)
    own = f"{place(findings, workload)}-{slug(cells[0].metric)}"
    for number, system in enumerate(findings.systems, 1):
        title = f"{cells[0].label}, {system.name}"
        yield Table(
            id=f"{own}-{number}-{slug(system.name)}",
            title=title,
            columns=(
                Column(grid.legend, figures=False),
                *(Column(name, alone(printed.unit)) for name in grid.columns),
            ),
            rows=_rows(cells, grid, system.name, printed),
            caption="Values of the source." if findings.origin else "Medians over blocks.",
            charts=(
                SheetChart(
                    "surface",
                    0,
                    tuple(range(1, 1 + len(grid.columns))),
                    title,
                    with_unit(cells[0].label, printed.unit),
                ),
            ),
        )


def _rows(
    cells: list[Cell], grid: Grid, system: str, printed: Printing
) -> tuple[tuple[Entry, ...], ...]:
    found = {
        grid.places[cell.at_label]: printed.entry(summary.median)
        for cell in cells
        for summary in cell.summaries
        if summary.system == system
    }
    return tuple(
        (
            Entry(row, strong=True),
            *(found.get((row, column), MISSING) for column in grid.columns),
        )
        for row in grid.rows
    )
