"""Panels of one picture beside each other, two abreast where there is room."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.analysis.model import Cell
from tiltyard.charts.chart import Spec
from tiltyard.charts.measure import Measure, measure_of

_ROOMY_PX = 600


@dataclass(frozen=True)
class Panel:
    """Some cells that are drawn together, in the order in which they are drawn."""

    title: str
    cells: tuple[Cell, ...]
    peers: tuple[Cell, ...]
    """Those of all panels that have one unit and one scale with it."""

    @property
    def measure(self) -> Measure:
        """In which unit values are printed."""
        return measure_of(self.peers)


@dataclass(frozen=True)
class Layout:
    """How many panels stand abreast, and how wide each of them is."""

    columns: int
    panel_px: int

    def of(self, panels: Sequence[Spec], row_px: int, column_px: int) -> Spec:
        """The picture, with as much room between rows and columns."""
        return {
            "padding": {"left": 0, "top": 2, "bottom": 2, "right": 4},
            "columns": self.columns,
            "spacing": {"row": row_px, "column": column_px},
            "resolve": {"scale": {"color": "shared", "shape": "shared"}},
            "concat": list(panels),
        }


def layout(panels: int, width_px: int, gap_px: int) -> Layout:
    """Room for so many panels."""
    columns = 2 if width_px >= _ROOMY_PX and panels > 1 else 1
    return Layout(columns, (width_px - gap_px * (columns - 1)) // columns)
