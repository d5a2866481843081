"""What each system reached: its typical value in every cell of the grid."""

from functools import partial

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, series
from tiltyard.charts.differences import by_test
from tiltyard.charts.grid import Grid, map_of
from tiltyard.charts.maps import Map, Strip, Tile, small_multiples
from tiltyard.charts.measure import head_of, measure_of
from tiltyard.charts.sequence import sequence_of


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Size × record maps of the median over blocks, one map a system, one scale a test."""
    grid = map_of(workload)
    if grid is None:
        return None
    strips = [
        _strip(series(findings), cells, grid, noted=place == 0)
        for place, cells in enumerate(by_test(workload.cells))
    ]
    return small_multiples(strips, grid, width_px)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """What the maps hold."""
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    value = "value of the source" if findings.origin else "median over blocks"
    return f"{workload.name}: {value} in every cell, for {systems}. Tests: {tests}."


def _strip(systems: list[str], cells: list[Cell], grid: Grid, *, noted: bool) -> Strip:
    measure = measure_of(cells)
    scale = sequence_of(s.median for cell in cells for s in cell.summaries)

    def tiles(system: str) -> list[Tile]:
        return [
            Tile(
                *grid.places[cell.at_label],
                [
                    measure.number(summary.median),
                    measure.whole(summary.median),
                    measure.short(summary.median),
                ],
                scale.tone(summary.median),
            )
            for cell in cells
            for summary in cell.summaries
            if summary.system == system
        ]

    return Strip(
        title=head_of(cells[0].label, measure, cells[0], noted=noted),
        maps=[Map(system, tiles(system)) for system in systems],
        key=partial(scale.key, measure),
    )


CHART = Chart(
    name="values",
    place="grid",
    title="Values, cell by cell",
    caption="Median over blocks. Darker by day, lighter by night: more, in equal ratios within "
    "each test.",
    draw=draw,
    alt=alt,
    elsewhere=(
        "Values, cell by cell",
        "Values of the source. Darker by day, lighter by night: more, in equal ratios within each "
        "test.",
    ),
)
