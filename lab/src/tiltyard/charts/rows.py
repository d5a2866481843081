"""Rows with their names at the left: named lines, in groups under heads, placed to the pixel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import Spec, extent_px
from tiltyard.charts.letters import fitted
from tiltyard.charts.theme import TEXT_PX

_GROUP_GAP_PX = 9
_HEAD_PX = 19
_LABELS_SHARE = 0.44
"""At most so much of the width is for names."""
_ROOMY_PX = 480


@dataclass(frozen=True)
class Row:
    """One line of a picture."""

    key: str
    label: str
    head: str = ""
    """Of the group that it belongs to; neighbours with the same head are one group."""


def rows_of(findings: Findings) -> list[Row]:
    """A row for each system, grouped by the first factor where there are several.

    Under its head a system is called by its other levels, where its name is made of them.
    """
    factors = list(findings.systems[0].levels) if findings.systems else []
    if len(factors) < 2:
        return [Row(system.name, system.name) for system in findings.systems]
    first, *others = factors
    groups: dict[str, list[Row]] = {}
    for system in findings.systems:
        head = system.levels.get(first, "")
        levels = [system.levels.get(factor, "") for factor in others]
        made_of_them = all(level in system.name for level in levels)
        label = ", ".join(levels) if made_of_them else system.name
        groups.setdefault(head, []).append(Row(system.name, label, head))
    return [row for group in groups.values() for row in group]


@dataclass(frozen=True)
class Rows:
    """Rows laid out for a width: heads beside the names where there is room, else above them."""

    rows: Sequence[Row]
    row_px: int
    width_px: int

    @cached_property
    def _grouped(self) -> bool:
        return any(row.head for row in self.rows)

    @cached_property
    def _abreast(self) -> bool:
        return self._grouped and self.width_px >= _ROOMY_PX

    @cached_property
    def _columns_px(self) -> tuple[int, int]:
        """Room for heads and for names."""
        most = _LABELS_SHARE * self.width_px
        names = min(extent_px(row.label for row in self.rows), round(most))
        if not self._abreast:
            return 0, names
        heads = extent_px((row.head for row in self.rows), TEXT_PX + 1)
        return min(heads, round(most / 2)), min(names, round(most / 2))

    @property
    def labels_px(self) -> int:
        """Room left of the plot."""
        return sum(self._columns_px)

    @cached_property
    def places(self) -> dict[str, float]:
        """Key of each row → the height of its middle."""
        found: dict[str, float] = {}
        foot, head = 0.0, None
        for row in self.rows:
            if row.head != head:
                foot += _GROUP_GAP_PX if found else 0
                foot += _HEAD_PX if self._grouped and not self._abreast else 0
                head = row.head
            found[row.key] = foot + self.row_px / 2
            foot += self.row_px
        return found

    @property
    def height_px(self) -> float:
        """From the top of the first row to the foot of the last."""
        return max(self.places.values(), default=0.0) + self.row_px / 2

    @property
    def y(self) -> Spec:
        """Encoding of what stands at a row: the field ``y`` of a datum is a place in px."""
        span = [0, self.height_px]
        return {
            "field": "y",
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": span, "range": span, "nice": False, "zero": False},
        }

    def layers(self) -> list[Spec]:
        """Names, and heads in bold."""
        heads_px, names_px = self._columns_px
        names = [
            {"y": self.places[row.key], "said": fitted(row.label, names_px - 8)}
            for row in self.rows
        ]
        return [
            self.texts(names, {"value": -8}, align="right"),
            self.texts(
                self._heads(heads_px), {"value": -self.labels_px}, align="left", fontWeight=600
            ),
        ]

    def _heads(self, room_px: int) -> list[Spec]:
        """The first row of each group has its head beside it, or above."""
        firsts = [
            row
            for before, row in zip([None, *self.rows], self.rows, strict=False)
            if row.head and (before is None or before.head != row.head)
        ]
        if self._abreast:
            return [
                {"y": self.places[row.key], "said": fitted(row.head, room_px - 8, TEXT_PX + 1)}
                for row in firsts
            ]
        lift = (self.row_px + _HEAD_PX) / 2
        return [
            {"y": self.places[row.key] - lift, "said": fitted(row.head, self.width_px - 8)}
            for row in firsts
        ]

    def texts(self, values: list[Spec], x: Spec, **look: object) -> Spec:
        """Texts ``said`` at the heights ``y``."""
        return {
            "data": {"values": values},
            "mark": {"type": "text", "baseline": "middle", "fontSize": TEXT_PX, **look},
            "encoding": {"y": self.y, "x": x, "text": {"field": "said"}},
        }
