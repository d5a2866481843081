"""Rows with their names at the left, in groups below their heads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import LIGHT, SMALL_PX, TEXT_PX, named_axis

_GROUP_GAP_PX = 7
_LABELS_SHARE = 0.44
"""At most so much of the width is for names."""


@dataclass(frozen=True)
class Row:
    """One line of a picture."""

    key: str
    label: str
    head: str = ""
    """Of the group that it belongs to; neighbours with the same head are one group."""

    @property
    def place(self) -> Spec:
        """What a datum of the row has: its row and the head of its group."""
        return {"row": self.key, "head": self.head}


def rows_of(findings: Findings) -> list[Row]:
    """A row for each system; where there are several factors what is compared is adjacent.

    A group is of systems that differ in the compared factor only. Under its head a system is
    called by its level of that factor, where its name is made of its levels.
    """
    factors = list(findings.systems[0].levels) if findings.systems else []
    if len(factors) < 2:
        return [Row(system.name, system.name) for system in findings.systems]
    crossed = crossing(findings)
    groups: dict[str, list[tuple[int, Row]]] = {}
    for system in findings.systems:
        own = system.levels[crossed.factor]
        others = [level for name, level in system.levels.items() if name != crossed.factor]
        head = ", ".join(others)
        made_of_them = all(level in system.name for level in (own, *others))
        row = Row(system.name, own if made_of_them else system.name, head)
        groups.setdefault(head, []).append((crossed.levels.index(own), row))
    return [row for group in groups.values() for _, row in sorted(group, key=itemgetter(0))]


@dataclass(frozen=True)
class Rows:
    """Rows laid out for a width."""

    rows: Sequence[Row]
    row_px: float
    width_px: int
    """Of the whole picture."""
    gap: float = 0.35
    """Of a row, left free between it and the next one."""
    grid: bool = False
    """Whether a line runs along each row."""

    @property
    def labels_px(self) -> int:
        """Room left of the plot."""
        return int(str(self._axis["minExtent"])) + 6

    @property
    def _axis(self) -> Spec:
        labels = {row.key: row.label for row in self.rows}
        axis = named_axis(labels, most_px=_LABELS_SHARE * self.width_px)
        return {**axis, "grid": self.grid}

    def view(
        self,
        plot_px: float,
        data: Iterable[Spec],
        layers: Sequence[Spec],
        encoding: Spec | None = None,
    ) -> Spec:
        """One view, or where rows have heads one below the other.

        Args:
            plot_px: width of the plot.
            data: each datum has the place of its row (:attr:`Row.place`).
            layers: marks; those without ``y`` of their own stand at the rows.
            encoding: further channels of all layers.
        """
        heads = list(dict.fromkeys(row.head for row in self.rows))
        y: Spec = {
            "field": "row",
            "type": "nominal",
            "sort": [row.key for row in self.rows],
            "title": None,
            "scale": {"paddingInner": self.gap, "paddingOuter": self.gap / 2},
            "axis": self._axis,
        }
        view: Spec = {
            "width": plot_px,
            "height": {"step": self.row_px, "for": "position"},
            "encoding": {"y": y, **(encoding or {})},
            "layer": list(layers),
        }
        values: Spec = {"data": {"values": list(data)}}
        if not any(heads):
            return values | view
        header: Spec = {
            "labelOrient": "top",
            "labelAnchor": "start",
            "labelFontSize": TEXT_PX,
            "labelFontWeight": 600,
            "labelColor": LIGHT["ink"],
            "labelPadding": 2,
            "labelLimit": plot_px,
        }
        by_head: Spec = {"field": "head", "type": "nominal", "sort": heads, "title": None}
        return {
            **values,
            "facet": {"row": {**by_head, "header": header}},
            "spacing": _GROUP_GAP_PX,
            "resolve": {"scale": {"y": "independent"}},
            "spec": view,
        }


def texts(field: str, x: Spec, **look: object) -> Spec:
    """A layer of texts beside the marks of rows."""
    return {
        "transform": [{"filter": f"isValid(datum.{field})"}],
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": SMALL_PX, **look},
        "encoding": {"x": x, "text": {"field": field}},
    }
