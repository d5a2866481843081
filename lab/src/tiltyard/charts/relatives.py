"""All tests at a glance, in shares of the best: a row a test, a dot a system."""

from collections.abc import Sequence

from tiltyard.analysis.model import Findings
from tiltyard.analysis.relative import RelativeTest, mean_shares, relative_tests
from tiltyard.charts.chart import Spec, StudyChart, series
from tiltyard.charts.rows import Row, Rows
from tiltyard.charts.theme import LIGHT, system_colour, system_legend, system_shape

_ROW_PX = 20
_ALL = "geometric mean"
_WIDE_RANGE = 8
"""Shares that reach further down than one in so many are drawn by ratios."""


def draw(findings: Findings, width_px: int) -> Spec | None:
    """Shares of the best speed; the mean over all tests last."""
    tests = relative_tests(findings)
    if len(tests) < 2:
        return None
    lines = [*tests, RelativeTest("", _ALL, mean_shares(tests))]
    layout = Rows(_rows(lines), _ROW_PX, width_px)
    least = min(share for line in lines for share in line.shares.values())
    plot_px = width_px - layout.labels_px - 16
    return {
        "padding": {"left": 0, "top": 2, "bottom": 4, "right": 12},
        "width": plot_px,
        "height": layout.height_px,
        "layer": [
            _guides(layout, plot_px),
            _dots(findings, lines, layout, _x(least)),
            *layout.layers(),
        ],
    }


def alt(findings: Findings) -> str:
    """Every share."""
    tests = relative_tests(findings)
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{system} {_percent(share)}" for system, share in test.shares.items())
        for name, test in zip(names_of(tests), tests, strict=True)
    )
    return f"Speed relative to the best of each test. {told}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def names_of(tests: Sequence[RelativeTest]) -> list[str]:
    """What each test is called where it stands alone: a workload's only one by the workload."""
    count = [test.workload for test in tests].count
    return [test.label if count(test.workload) > 1 else test.workload for test in tests]


def _rows(lines: Sequence[RelativeTest]) -> list[Row]:
    """Tests under their workload; the mean apart."""
    return [
        Row(str(place), line.label, line.workload if line.workload != line.label else "")
        for place, line in enumerate(lines)
    ]


def _x(least: float) -> Spec:
    """To 1, from zero where shares are near to each other, else by ratios."""
    by_ratio = least < 1 / _WIDE_RANGE
    scale: Spec = {"type": "log", "domain": [least / 1.1, 1]} if by_ratio else {"domain": [0, 1]}
    steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1] if by_ratio else [0, 0.25, 0.5, 0.75, 1]
    return {
        "field": "share",
        "type": "quantitative",
        "title": "speed relative to the best of each test",
        "scale": {**scale, "nice": False},
        "axis": {
            "values": [step for step in steps if step >= least / 1.1 or not by_ratio],
            "labelExpr": "format(100 * datum.value, '~r') + ' %'",
            "labelOverlap": "parity",
        },
    }


def _guides(layout: Rows, plot_px: int) -> Spec:
    """A faint line along each row, so that a dot is followed to its name."""
    return {
        "data": {"values": [{"y": place} for place in layout.places.values()]},
        "mark": {"type": "rule", "color": LIGHT["line"], "strokeWidth": 0.7},
        "encoding": {"y": layout.y, "x": {"value": 0}, "x2": {"value": plot_px}},
    }


def _dots(findings: Findings, lines: list[RelativeTest], layout: Rows, x: Spec) -> Spec:
    values = [
        {"y": place, "system": system, "share": line.shares[system]}
        for place, line in zip(layout.places.values(), lines, strict=True)
        for system in reversed(series(findings))
        if system in line.shares
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9},
        "encoding": {
            "y": layout.y,
            "x": x,
            "color": {
                "field": "system",
                "scale": system_colour(findings),
                "legend": system_legend(findings, layout.width_px, layout.labels_px),
            },
            "shape": {"field": "system", "scale": system_shape(findings)},
        },
    }


CHART = StudyChart(
    name="relatives",
    title="All tests at a glance",
    caption="Each dot is a system's speed over that of the best in this test; times count as "
    "speeds, so the right edge is always best. Estimates only: whether a difference is one, the "
    "verdicts say.",
    draw=draw,
    alt=alt,
)
