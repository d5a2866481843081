"""A height over a floor, seen from above and one corner: points to paper, faces in painter's order.

A parallel projection: equal heights are equally long wherever they stand, so a value can be read
against the wall behind it. The arithmetic only; nothing here knows of values or pictures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
"""On paper, in px; y grows downwards."""
Heights: TypeAlias = Sequence[Sequence[float | None]]
"""Shares of the full height: a row for each step away along the left edge, a column for each
along the right one; ``None`` where nothing is known."""

_DEPTH = 0.21
"""How far the floor's corners are below each other, as a share of the width."""
_RISE = 0.40
"""Full height, as a share of the width."""


@dataclass(frozen=True)
class View:
    """A unit cube on paper: ``right`` runs to the front right, ``left`` to the front left."""

    width_px: float

    @property
    def height_px(self) -> float:
        """From the top of the far corner to the near corner of the floor."""
        return self.width_px * (2 * _DEPTH + _RISE)

    def at(self, right: float, left: float, height: float = 0.0) -> Point:
        """Where a point of the cube stands; the far corner of the floor is (0, 0, 0)."""
        x = self.width_px * (1 + right - left) / 2
        y = self.width_px * (_RISE * (1 - height) + _DEPTH * (right + left))
        return round(x, 1), round(y, 1)


@dataclass(frozen=True)
class Face:
    """One piece of the surface."""

    corners: tuple[Point, ...]
    height: float
    """Mean of its corners' heights: 0 to 1."""


def faces(heights: Heights, view: View) -> list[Face]:
    """The surface between neighbouring points, the farthest first, so that near ones cover far.

    Pieces with a corner that is not known are left out.
    """
    found = sorted(_pieces(heights), key=lambda piece: piece[0])
    rows, columns = len(heights) - 1, len(heights[0]) - 1
    return [
        Face(
            corners=tuple(view.at(c / columns, r / rows, height) for r, c, height in corners),
            height=sum(height for _, _, height in corners) / len(corners),
        )
        for _, corners in found
    ]


def _pieces(heights: Heights) -> Iterator[tuple[float, list[tuple[int, int, float]]]]:
    """Each piece with its distance from the far corner and its corners in turn."""
    rows, columns = len(heights) - 1, len(heights[0]) - 1
    for row in range(rows):
        for column in range(columns):
            around = ((row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column))
            corners = [(r, c, h) for r, c in around if (h := heights[r][c]) is not None]
            if len(corners) == len(around):
                yield row / rows + column / columns, corners


def falls(series: Sequence[float]) -> bool:
    """Whether a sequence of means ends lower than it begins, weighing all of its steps."""
    middle = (len(series) - 1) / 2
    return sum((place - middle) * value for place, value in enumerate(series)) < 0
