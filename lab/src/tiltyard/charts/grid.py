"""A workload's grid laid out on paper: the last dimension across, the others down."""

from dataclasses import dataclass

from tiltyard.analysis.model import Cell
from tiltyard.analysis.quantity import level_text


@dataclass(frozen=True)
class Grid:
    """Where each cell of a workload stands in a size × record map."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    legend: str
    """Which dimensions they are: ``file down, record across``."""
    places: dict[str, tuple[str, str]]
    """``at_label`` of a cell → its row and its column."""


def grid_of(cells: tuple[Cell, ...]) -> Grid | None:
    """The grid of some cells; ``None`` if they have no dimensions."""
    if not cells or not cells[0].at:
        return None
    axes = list(cells[0].at)
    short = [[level_text(cell.at[axis]) for cell in cells] for axis in axes]
    columns = short[-1]
    rows = [" · ".join(parts) for parts in zip(*short[:-1], strict=True)] or [""] * len(columns)
    return Grid(
        rows=tuple(dict.fromkeys(rows)),
        columns=tuple(dict.fromkeys(columns)),
        legend=", ".join([*(f"{axis} down" for axis in axes[:-1]), f"{axes[-1]} across"]),
        places={
            cell.at_label: place
            for cell, place in zip(cells, zip(rows, columns, strict=True), strict=True)
        },
    )
