"""All tests at a glance, in shares of the best: a row a test, a dot a system."""

from collections.abc import Sequence

from tiltyard.analysis.model import Findings
from tiltyard.analysis.relative import RelativeTest, mean_shares, relative_tests, with_mean
from tiltyard.charts.chart import Spec, StudyChart, series
from tiltyard.charts.rows import Row, Rows
from tiltyard.charts.theme import system_colour, system_legend, system_shape

_ROW_PX = 20
_ALL = "geometric mean"
_WIDE_RANGE = 8
"""Shares that reach further down than one in so many are drawn by ratios."""


def draw(findings: Findings, width_px: int) -> Spec | None:
    """Shares of the best speed; the mean over all tests last."""
    tests = relative_tests(findings)
    if len(tests) < 2:
        return None
    means = mean_shares(with_mean(tests))
    lines = [*tests, *([RelativeTest(_ALL, _ALL, "", "higher", means)] if means else [])]
    rows = [
        Row(str(place), line.label, line.workload if line.workload != line.label else " ")
        for place, line in enumerate(lines)
    ]
    layout = Rows(rows, _ROW_PX, width_px, grid=True)
    data: list[Spec] = [
        {**row.place, "system": system, "share": line.shares[system]}
        for row, line in zip(rows, lines, strict=True)
        for system in reversed(series(findings))
        if system in line.shares
    ]
    plot_px = width_px - layout.labels_px - 16
    legend = system_legend(findings, plot_px)
    dots: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9},
        "encoding": {
            "x": _x(min(share for line in lines for share in line.shares.values())),
            "color": system_colour(findings, legend),
            "shape": system_shape(findings, legend),
        },
    }
    return {
        "padding": {"left": 0, "top": 2, "bottom": 4, "right": 12},
        **layout.view(plot_px, data, [dots]),
    }


def alt(findings: Findings) -> str:
    """Every share."""
    tests = relative_tests(findings)
    shares = "; ".join(
        f"{name}: "
        + ", ".join(f"{system} {100 * share:.0f} %" for system, share in test.shares.items())
        for name, test in zip(_names_of(tests), tests, strict=True)
    )
    return f"Speed relative to the best of each test. {shares}."


def _names_of(tests: Sequence[RelativeTest]) -> list[str]:
    """What each test is called where it stands alone: a workload's only one by the workload."""
    count = [test.workload for test in tests].count
    return [test.label if count(test.workload) > 1 else test.workload for test in tests]


def _x(least: float) -> Spec:
    """To 1, from zero where shares are near to each other, else by ratios."""
    by_ratio = least < 1 / _WIDE_RANGE
    scale: Spec = {"type": "log", "domain": [least / 1.1, 1]} if by_ratio else {"domain": [0, 1]}
    steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1] if by_ratio else [0, 0.25, 0.5, 0.75, 1]
    return {
        "field": "share",
        "type": "quantitative",
        "title": "speed relative to the best of each test" + (", log scale" if by_ratio else ""),
        "scale": {**scale, "nice": False},
        "axis": {
            "values": [step for step in steps if step >= least / 1.1 or not by_ratio],
            "labelExpr": "format(100 * datum.value, '~r') + ' %'",
            "labelOverlap": "parity",
        },
    }


CHART = StudyChart(
    name="relatives",
    places=("results overview",),
    title="All tests at a glance",
    caption="Each dot is a system's speed over that of the best in this test; times count as "
    "speeds, so the right edge is always best. Estimates only: whether a difference is one, the "
    "verdicts say.",
    draw=draw,
    alt=alt,
)
