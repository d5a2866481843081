"""Where things stand in a picture of curves: levels across, values up, names at the ends."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tiltyard.analysis.axes import AUTOMATIC, COUNTED, Course
from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import SMALL_PX

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


@dataclass(frozen=True)
class Scale:
    """The axis of values, in the printed unit."""

    low: float
    high: float
    logarithmic: bool

    def axis(self, *, across: bool = False) -> Spec:
        """Encoding of a value, without its field: upwards, or across."""
        axis: Spec = {"grid": True, "labelExpr": "format(datum.value, ',~r')"}
        axis |= {} if across else {"minExtent": _LABELS_PX}
        axis |= (
            {"values": self._ticks(_FEW_TICKS if across else _MANY_TICKS)}
            if self.logarithmic
            else {"tickCount": 5}
        )
        return {
            "type": "quantitative",
            "title": None,
            "axis": {**axis, "labelOverlap": "parity" if across else False},
            "scale": {
                "type": "log" if self.logarithmic else "linear",
                "domain": [self.low, self.high],
                "nice": False,
            },
        }

    def share(self, value: float) -> float:
        """How high a value stands: 0 at the foot, 1 at the top."""
        low, high, drawn = self._drawn(self.low), self._drawn(self.high), self._drawn(value)
        return (drawn - low) / (high - low)

    def at_share(self, share: float) -> float:
        """The value that stands so high."""
        low, high = self._drawn(self.low), self._drawn(self.high)
        drawn = low + share * (high - low)
        return math.exp(drawn) if self.logarithmic else drawn

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


def round_ticks(most: float, steps: int = 4) -> list[float]:
    """Round numbers from 0 to the first that is not below ``most``."""
    rough = most / steps
    decade = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(one * decade for one in (1, 2, 2.5, 5, 10) if one * decade >= rough)
    return [step * place for place in range(math.ceil(most / step - 1e-9) + 1)]


def scale_of(values: Iterable[float]) -> Scale:
    """From zero where the values are near to each other, else logarithmic."""
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
    """Of the levels that have room for a label."""
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

    def axis(self) -> Spec:
        """Encoding of a place, without its field."""
        texts = {f"{self.at[level]:.4f}": text for level, text in self.texts.items()}
        return {
            "type": "quantitative",
            "title": self.title,
            "scale": {"domain": list(self.edges), "nice": False, "zero": False},
            "axis": {
                "grid": False,
                "values": [self.at[level] for level in self.texts],
                "labelExpr": f"{json.dumps(texts)}[format(datum.value, '.4f')]",
                "labelOverlap": False,
            },
        }


def places_of(along: Course, systems: int, width_px: int) -> Places:
    """The levels of a course across a width; as many of them are labelled as there is room for."""
    by_ratio = along.axis.is_sized(along.levels) or along.axis.names[0] in COUNTED
    beside = frozenset({AUTOMATIC} if by_ratio else ()) & set(along.levels)
    on_scale = [level for level in along.levels if level not in beside]
    at = {level: math.log2(level) if by_ratio else float(n) for n, level in enumerate(on_scale)}
    step = min(b - a for a, b in pairwise(at.values()))
    if beside:
        at = {AUTOMATIC: at[on_scale[0]] - step, **at}
    return Places(
        at=at,
        texts=_labelled(along, at, step * _AIR, width_px),
        beside=beside,
        dodge=step * min(_DODGE, _SPREAD / systems),
        air=step * _AIR,
        systems=systems,
        title=along.heading,
    )


def _labelled(along: Course, at: Mapping[int, float], air: float, width_px: int) -> dict[int, str]:
    """As many labels as fit: every level, or every second, third … one, the largest among them."""
    px_each = width_px / (max(at.values()) - min(at.values()) + 2 * air)
    largest_first = sorted(at, key=at.__getitem__, reverse=True)
    for step in range(1, len(at) + 1):
        texts = {level: along.text(level) for level in largest_first[::step]}
        if all(
            px_each * (at[level] - at[lower]) >= _label_px(texts[level], texts[lower])
            for level, lower in pairwise(texts)
        ):
            break
    return dict(reversed(texts.items()))


def _label_px(one: str, other: str) -> float:
    """Distance that the centres of two labels need."""
    return 0.58 * SMALL_PX * (len(one) + len(other)) / 2 + 10


def apart(shares: Mapping[str, float], least: float) -> dict[str, float]:
    """The same heights, moved as little as needed to stand ``least`` apart, within 0 to 1.

    Those that are too near to each other are spread around their own middle.
    """
    names = sorted(shares, key=shares.__getitem__)
    heaps: list[tuple[list[str], float]] = []
    for name in names:
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
    return _within(moved, least)


def _foot(heap: tuple[list[str], float], least: float) -> float:
    return heap[1] - least * (len(heap[0]) - 1) / 2


def _top(heap: tuple[list[str], float], least: float) -> float:
    return heap[1] + least * (len(heap[0]) - 1) / 2


def _within(moved: dict[str, float], least: float) -> dict[str, float]:
    """Pushed up from below 0, then down from above 1; the order stays."""
    names = list(moved)
    for place, name in enumerate(names):
        moved[name] = max(moved[name], place * least)
    for place, name in enumerate(reversed(names)):
        moved[name] = min(moved[name], 1 - place * least)
    return moved
