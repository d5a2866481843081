"""A system's values in the cells of a workload, and the least and the most of them in words."""

from collections.abc import Iterable, Iterator

from tiltyard.analysis.model import Cell, WorkloadFindings
from tiltyard.charts.differences import by_test
from tiltyard.charts.measure import measure_of


def spans(workload: WorkloadFindings, system: str) -> str:
    """``throughput from 21,4 KB/s (…) to 6,… KB/s (…).`` for each test."""
    return " ".join(
        f"{cells[0].label} from {measure.text(least)} ({cells_at[least]}) "
        f"to {measure.text(most)} ({cells_at[most]})."
        for cells in by_test(workload.cells)
        if (cells_at := {value: cell.at_label for cell, value in values_of(cells, system)})
        for measure in [measure_of(cells)]
        for least, most in [(min(cells_at), max(cells_at))]
    )


def values_of(cells: Iterable[Cell], system: str) -> Iterator[tuple[Cell, float]]:
    """Each cell with the system's typical value there."""
    for cell in cells:
        for summary in cell.summaries:
            if summary.system == system:
                yield cell, summary.median
