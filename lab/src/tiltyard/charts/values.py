"""What each system reached: its typical value in every cell of the grid."""

import math

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, series
from tiltyard.charts.differences import by_test
from tiltyard.charts.figures import with_unit
from tiltyard.charts.grid import Grid, map_of
from tiltyard.charts.maps import Map, Strip, Tile, small_multiples
from tiltyard.units import display_unit, format_number

_TONES = 5


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Size × record maps of the median over blocks, one map a system, one scale a test."""
    grid = map_of(workload)
    if grid is None:
        return None
    strips = [_strip(series(findings), cells, grid) for cells in by_test(workload.cells)]
    return small_multiples(strips, grid, width_px)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """What the maps hold."""
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    return f"{workload.name}: median over blocks in every cell, for {systems}. Tests: {tests}."


def _strip(systems: list[str], cells: list[Cell], grid: Grid) -> Strip:
    medians = [s.median for cell in cells for s in cell.summaries if s.median > 0]
    factor, unit = display_unit(max(medians, default=1.0), cells[0].shown_in)
    span = (min(medians, default=1.0), max(medians, default=1.0))

    def tiles(system: str) -> list[Tile]:
        return [
            Tile(
                *grid.places[cell.at_label],
                [format_number(summary.median / factor)],
                f"amount-{_tone(summary.median, span)}",
            )
            for cell in cells
            for summary in cell.summaries
            if summary.system == system
        ]

    return Strip(
        title=with_unit(cells[0].label, unit),
        maps=[Map(system, tiles(system)) for system in systems],
    )


def _tone(value: float, span: tuple[float, float]) -> int:
    """1 for the least to 5 for the most of a test, in equal steps of the ratio."""
    if value <= 0 or span[0] == span[1]:
        return 1
    share = math.log(value / span[0]) / math.log(span[1] / span[0])
    return 1 + min(_TONES - 1, int(_TONES * share))


CHART = Chart(
    name="values",
    place="grid",
    title="Values, cell by cell",
    caption="Median over blocks. Darker by day, lighter by night: more, in equal ratios within "
    "each test.",
    draw=draw,
    alt=alt,
)
