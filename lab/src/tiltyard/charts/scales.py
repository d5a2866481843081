"""Where things stand in a picture of lines: values up, levels across, names at the ends."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from tiltyard.analysis.axes import AUTOMATIC, COUNTED, Course
from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import Spec, series
from tiltyard.charts.theme import LIGHT, SMALL_PX, extent_px, text_px

_WIDE_RANGE = 20
"""Values that differ by more than this factor are drawn on a logarithmic scale."""
_LADDERS = ((1, 2, 5), (1, 3), (1,))
_MANY_TICKS = 7
_FEW_TICKS = 5
_SPREAD = 0.36
"""Room that the systems share at one level, as a share of the distance of levels."""
_DODGE = 0.1
_AIR = 0.5
_LABELS_PX = 42
"""Room for the numbers of the axis of values, the same in all panels."""
_SIGN_PX = 20
_NAMES_SHARE = 0.36
"""Longer names than this share of a panel would leave too little of it for the lines."""
_NAME_PX = 15
"""Distance of the names at the ends of lines."""


@dataclass(frozen=True)
class Scale:
    """The axis of values, in the printed unit."""

    low: float
    high: float
    logarithmic: bool

    @property
    def words(self) -> str:
        """``log scale``, or nothing."""
        return "log scale" if self.logarithmic else ""

    def axis(self, *, across: bool = False) -> Spec:
        """Encoding of a value, without its field: upwards, or across."""
        axis: Spec = {
            "grid": True,
            "labelExpr": "format(datum.value, ',~r')",
            "labelOverlap": "parity" if across else False,
        }
        axis |= {} if across else {"minExtent": _LABELS_PX}
        if self.logarithmic:
            axis["values"] = self._ticks(_FEW_TICKS if across else _MANY_TICKS)
        else:
            axis["tickCount"] = 5
        kind = "log" if self.logarithmic else "linear"
        scale: Spec = {"type": kind, "domain": [self.low, self.high], "nice": False}
        return {"type": "quantitative", "title": None, "axis": axis, "scale": scale}

    def apart(self, values: Mapping[str, float], least: float) -> dict[str, float]:
        """Values moved as little as needed to stand ``least`` of the height apart."""
        low, high = self._drawn(self.low), self._drawn(self.high)
        heights = {
            name: (self._drawn(value) - low) / (high - low) for name, value in values.items()
        }
        moved = {name: low + at * (high - low) for name, at in apart(heights, least).items()}
        return {name: math.exp(at) if self.logarithmic else at for name, at in moved.items()}

    def _drawn(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value

    def _ticks(self, most: int) -> list[float]:
        """Round numbers in each decade, as many as are read easily."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in _LADDERS:
            ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
            inside = [tick for tick in ticks if self.low <= tick <= self.high]
            if len(inside) <= most:
                break
        return inside


def scale_of(values: Iterable[float]) -> Scale:
    """From zero where the values are near to each other, else logarithmic.

    A picture says which by :attr:`Scale.words`.
    """
    drawn = [value for value in values if value > 0] or [1.0]
    least, most = min(drawn), max(drawn)
    if most / least > _WIDE_RANGE:
        air = (most / least) ** 0.04
        return Scale(least / air, most * air, logarithmic=True)
    return Scale(0.0, most * 1.06, logarithmic=False)


@dataclass(frozen=True)
class Places:
    """Where the levels of a course stand: sizes and counts by their logarithm, others in turn."""

    at: Mapping[int, float]
    texts: Mapping[int, str]
    beside: frozenset[int]
    """Levels that are not on the scale: ``auto``, left of it."""
    dodge: float
    """Distance of the systems at one level."""
    air: float
    """Room before the first level and behind the last one."""
    systems: int
    title: str

    def of(self, level: int, number: int) -> float:
        """Where a level of the system of that number stands, beside those of the others."""
        return round(self.at[level] + self.dodge * (number - (self.systems - 1) / 2), 4)

    @property
    def edges(self) -> tuple[float, float]:
        """The ends of the axis."""
        return min(self.at.values()) - self.air, max(self.at.values()) + self.air

    def axis(self, width_px: float) -> Spec:
        """Encoding of a place, without its field."""
        texts = {f"{self.at[level]:.4f}": text for level, text in self.texts.items()}
        return {
            "type": "quantitative",
            "title": self.title,
            "scale": {"domain": list(self.edges), "nice": False, "zero": False},
            "axis": {
                "grid": False,
                "values": [self.at[level] for level in self.labelled(width_px)],
                "labelExpr": f"{json.dumps(texts)}[format(datum.value, '.4f')]",
                "labelOverlap": False,
            },
        }

    def labelled(self, width_px: float) -> list[int]:
        """Levels whose labels fit: all, or every second, third … one, the largest among them."""
        left, right = self.edges
        px_each = width_px / (right - left)
        largest_first = sorted(self.at, key=self.at.__getitem__, reverse=True)
        for step in range(1, len(self.at) + 1):
            levels = largest_first[::step]
            if all(
                px_each * (self.at[level] - self.at[lower]) >= self._distance_px(level, lower)
                for level, lower in pairwise(levels)
            ):
                break
        return levels[::-1]

    def _distance_px(self, *levels: int) -> float:
        """Distance that the centres of two labels need."""
        return fmean(text_px(self.texts[level], SMALL_PX) for level in levels) + 10


def places_of(along: Course, systems: int) -> Places:
    """The levels of a course across a width."""
    by_ratio = along.axis.is_sized(along.levels) or along.axis.names[0] in COUNTED
    beside = frozenset({AUTOMATIC} if by_ratio else ()) & set(along.levels)
    on_scale = [level for level in along.levels if level not in beside]
    at = {level: math.log2(level) if by_ratio else float(n) for n, level in enumerate(on_scale)}
    step = min(b - a for a, b in pairwise(at.values()))
    if beside:
        at = {AUTOMATIC: at[on_scale[0]] - step, **at}
    return Places(
        at=at,
        texts={level: along.text(level) for level in at},
        beside=beside,
        dodge=step * min(_DODGE, _SPREAD / systems),
        air=step * _AIR,
        systems=systems,
        title=along.heading,
    )


def apart(shares: Mapping[str, float], least: float) -> dict[str, float]:
    """The same heights, moved as little as needed to stand ``least`` apart, within 0 to 1.

    Those that are too near to each other are spread around their own middle.
    """
    heaps: list[tuple[list[str], float]] = []
    for name in sorted(shares, key=shares.__getitem__):
        heaps.append(([name], shares[name]))
        while len(heaps) > 1 and _foot(heaps[-1], least) < _top(heaps[-2], least) + least:
            (lower, below), (upper, above) = heaps[-2:]
            middle = (len(lower) * below + len(upper) * above) / (len(lower) + len(upper))
            heaps[-2:] = [([*lower, *upper], middle)]
    moved = {
        name: _foot(heap, least) + least * place
        for heap in heaps
        for place, name in enumerate(heap[0])
    }
    upwards = {name: max(at, place * least) for place, (name, at) in enumerate(moved.items())}
    return {
        name: min(at, 1 - (len(moved) - 1 - place) * least)
        for place, (name, at) in enumerate(upwards.items())
    }


def _foot(heap: tuple[list[str], float], least: float) -> float:
    return heap[1] - least * (len(heap[0]) - 1) / 2


def _top(heap: tuple[list[str], float], least: float) -> float:
    return heap[1] + least * (len(heap[0]) - 1) / 2


def names_px(findings: Findings, panel_px: int) -> int | None:
    """Room for the systems' names beside a panel; ``None`` where a legend has to take them."""
    needed_px = extent_px(series(findings), SMALL_PX) + _SIGN_PX
    return needed_px if needed_px <= _NAMES_SHARE * panel_px else None


def named_ends(
    scale: Scale, ends: Mapping[str, float], size_px: tuple[int, int], shape: Spec
) -> list[Spec]:
    """Sign and name of each system, moved where lines end together.

    Args:
        scale: of the values.
        ends: each system's last value.
        size_px: width and height of the panel.
        shape: encoding of the systems' shapes.
    """
    width_px, height_px = size_px
    heights = scale.apart(ends, _NAME_PX / height_px)
    data: Spec = {"values": [{"system": name, "end": end} for name, end in heights.items()]}
    place: Spec = {
        "x": {"value": width_px + 12},
        "y": {"field": "end", "type": "quantitative"},
    }
    return [
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {**place, "shape": shape},
        },
        {
            "data": data,
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": SMALL_PX},
            "encoding": {**place, "text": {"field": "system"}, "color": {"value": LIGHT["ink"]}},
        },
    ]
