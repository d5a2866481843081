"""Where the difference comes from: every cell of the grid, each system against the baseline."""

from tiltyard.analysis.model import Cell, Comparison, Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec
from tiltyard.charts.figures import MARKS, against, ratio_text
from tiltyard.charts.grid import Grid, map_of
from tiltyard.charts.maps import Map, Strip, Tile, small_multiples
from tiltyard.charts.theme import STRENGTHS
from tiltyard.units import format_ratio


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Size × record maps of the ratio to the baseline, coloured by which is better."""
    grid = map_of(workload)
    systems = [system.name for system in findings.systems if system.name != findings.baseline]
    if grid is None or not systems:
        return None
    strips = [
        Strip(
            title=f"{cells[0].label}, relative to {findings.baseline}",
            maps=[
                Map(
                    head=system,
                    tiles=_tiles(cells, grid, system, findings.baseline),
                )
                for system in systems
            ],
        )
        for cells in by_test(workload.cells)
    ]
    return small_multiples(strips, grid, width_px)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """How many cells got which verdict."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in workload.tally.items() if count)
    return f"{workload.name}: ratio to {findings.baseline} in every cell. Of all pairs: {counts}."


def by_test(cells: tuple[Cell, ...]) -> list[list[Cell]]:
    """The cells of each test, tests in the workload's order."""
    tests: dict[str, list[Cell]] = {}
    for cell in cells:
        tests.setdefault(cell.metric, []).append(cell)
    return list(tests.values())


def tone(comparison: Comparison) -> str:
    """The colour of a difference: its side by the verdict, its strength by the ratio."""
    if comparison.verdict == "equivalent":
        return "equal"
    if comparison.ratio is None or comparison.verdict in ("undecided", "invalid"):
        return "panel"
    factor = max(comparison.ratio, 1 / comparison.ratio)
    strength = next(strength for limit, strength in STRENGTHS if factor <= limit)
    return f"{'better' if comparison.verdict == 'faster' else 'worse'}-{strength}"


def _tiles(cells: list[Cell], grid: Grid, system: str, baseline: str) -> list[Tile]:
    tiles = []
    for cell in cells:
        row, column = grid.places[cell.at_label]
        for comparison in against(cell.comparisons, baseline):
            if comparison.system == system:
                tiles.append(Tile(row, column, _texts(comparison), tone(comparison)))
    return tiles


def _texts(comparison: Comparison) -> list[str]:
    mark = MARKS[comparison.verdict]
    if comparison.ratio is None:
        return [mark]
    return [f"{mark} {ratio_text(comparison)}", f"{mark}{format_ratio(comparison.ratio)}", mark]


CHART = Chart(
    name="differences",
    place="grid",
    title="Differences, cell by cell",
    caption="▲ better, ▼ worse, = equivalent, ? undecided. The stronger the colour, the larger "
    "the ratio: up to 1.1, 1.25, 2, and beyond. Undecided cells have no colour.",
    draw=draw,
    alt=alt,
)
