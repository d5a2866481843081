"""All tests around a circle, in shares of the best: a ring a system.

The shape depends on the order of the tests and areas exaggerate, so this is an alternative to
:mod:`tiltyard.charts.relatives` and stands nowhere by itself.
"""

import math
from collections.abc import Sequence

from tiltyard.analysis.model import Findings
from tiltyard.analysis.relative import RelativeTest, relative_tests
from tiltyard.charts.chart import Spec, StudyChart, extent_px, series
from tiltyard.charts.letters import fitted
from tiltyard.charts.relatives import alt, names_of
from tiltyard.charts.theme import LIGHT, SMALL_PX, system_colour, system_legend, system_shape

_LEAST, _MOST = 3, 24
"""Tests for which there is a shape at all, and room for names."""
_RADIUS_PX = 190
_LABEL_SHARE = 0.27
"""Of the width, at most, for the names at each side."""
_RINGS = (0.25, 0.5, 0.75, 1.0)


def draw(findings: Findings, width_px: int) -> Spec | None:
    """A spoke a test, the best of it at the rim."""
    tests = relative_tests(findings)
    if not _LEAST <= len(tests) <= _MOST:
        return None
    names_px = min(_LABEL_SHARE * width_px, extent_px(names_of(tests), SMALL_PX) + 8)
    radius_px = round(min(_RADIUS_PX, width_px / 2 - names_px))
    side_px = _side_px(radius_px)
    return {
        "padding": 4,
        "width": side_px,
        "height": side_px,
        "encoding": {"x": _axis("x", side_px), "y": _axis("y", side_px)},
        "layer": [
            _rings(len(tests), side_px, radius_px),
            *_systems(findings, tests, radius_px, width_px),
            *_names(names_of(tests), side_px, radius_px, names_px),
        ],
    }


def _side_px(radius_px: float) -> float:
    """The circle, and room for the names above and below it."""
    return 2 * (radius_px + 16)


def place_at(turn: float, radius_px: float, side_px: float) -> tuple[float, float]:
    """A point on paper: turns clockwise from the top, y downwards, from the middle of a square."""
    angle = 2 * math.pi * turn
    middle = side_px / 2
    return (
        round(middle + radius_px * math.sin(angle), 1),
        round(middle - radius_px * math.cos(angle), 1),
    )


def _axis(field: str, side_px: float) -> Spec:
    scale = {"domain": [0, side_px], "range": [0, side_px], "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _rings(spokes: int, side_px: float, radius_px: float) -> Spec:
    """Polygons at quarters of the best, and the spokes."""
    lines = [
        [place_at(spoke / spokes, ring * radius_px, side_px) for spoke in range(spokes + 1)]
        for ring in _RINGS
    ]
    lines += [
        [place_at(0, 0, side_px), place_at(spoke / spokes, radius_px, side_px)]
        for spoke in range(spokes)
    ]
    values = [
        {"x": x, "y": y, "line": number, "order": order}
        for number, line in enumerate(lines)
        for order, (x, y) in enumerate(line)
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "line", "color": LIGHT["line"], "strokeWidth": 0.8},
        "encoding": {
            "detail": {"field": "line"},
            "order": {"field": "order", "type": "quantitative"},
        },
    }


def _systems(
    findings: Findings, tests: list[RelativeTest], radius_px: float, width_px: int
) -> list[Spec]:
    """A closed line and its corners for each system; a test that it lacks is left out."""
    side_px = _side_px(radius_px)
    values = [
        {"x": x, "y": y, "system": system, "order": order}
        for system in series(findings)
        for order, test in enumerate(tests)
        if system in test.shares
        for x, y in [place_at(order / len(tests), test.shares[system] * radius_px, side_px)]
    ]
    colour: Spec = {
        "field": "system",
        "scale": system_colour(findings),
        "legend": system_legend(findings, width_px),
    }
    return [
        {
            "data": {"values": values},
            "mark": {"type": "line", "interpolate": "linear-closed", "strokeWidth": 1.75},
            "encoding": {
                "color": colour,
                "order": {"field": "order", "type": "quantitative"},
            },
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
            "encoding": {
                "color": colour,
                "shape": {"field": "system", "scale": system_shape(findings)},
            },
        },
    ]


def _names(names: Sequence[str], side_px: float, radius_px: float, names_px: float) -> list[Spec]:
    """Each test at the end of its spoke; the rings' shares up the first one."""
    sides: dict[str, list[Spec]] = {"left": [], "center": [], "right": []}
    for place, name in enumerate(names):
        turn = place / len(names)
        x, y = place_at(turn, radius_px + 9, side_px)
        across = x - side_px / 2
        side = "center" if abs(across) < 1 else "left" if across > 0 else "right"
        sides[side].append({"x": x, "y": y, "said": fitted(name, names_px, SMALL_PX)})
    rings = [
        {"x": x, "y": y, "said": f"{100 * ring:.0f} %"}
        for ring in _RINGS
        for x, y in [place_at(0, ring * radius_px, side_px)]
    ]
    return [
        *(
            _texts(found, {"align": align, "baseline": "middle", "color": LIGHT["ink"]})
            for align, found in sides.items()
        ),
        _texts(rings, {"align": "left", "dx": 4, "dy": 8, "color": LIGHT["soft"]}),
    ]


def _texts(values: list[Spec], look: Spec) -> Spec:
    return {
        "data": {"values": values},
        "mark": {"type": "text", "fontSize": SMALL_PX, **look},
        "encoding": {"text": {"field": "said"}},
    }


CHART = StudyChart(
    name="radar",
    title="All tests around a circle",
    caption="Each spoke is a test, its rim the speed of the best. Read along the spokes: the area "
    "of a shape, and the shape itself, depend on the order of the tests.",
    draw=draw,
    alt=alt,
)
