"""Wins and losses: how often each system was found better or worse than the others."""

from tiltyard.analysis.model import Findings
from tiltyard.analysis.tallies import Tally, tallies
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.chart import Spec, StudyChart, extent_px
from tiltyard.charts.figures import MARKS
from tiltyard.charts.letters import width_em
from tiltyard.charts.rows import Rows, rows_of
from tiltyard.charts.sequence import toned
from tiltyard.charts.theme import SMALL_PX

_ROW_PX = 26
_BAR_PX = 18
_ROOMY_PX = 600
_ORDER: tuple[tuple[Verdict, str], ...] = (
    ("slower", "worse-3"),
    ("undecided", "panel"),
    ("equivalent", "equal"),
    ("faster", "better-3"),
)
"""From left to right, with its colour; what is not decided lies in the middle."""
_DECIDED: tuple[Verdict, ...] = ("slower", "equivalent", "faster")


def draw(findings: Findings, width_px: int) -> Spec | None:
    """A bar a system, losses to the left and wins to the right; none where nothing is decided."""
    found = {tally.system: tally for tally in tallies(findings)}
    if not any(tally.verdicts.get(verdict) for tally in found.values() for verdict in _DECIDED):
        return None
    layout = Rows(rows_of(findings), _ROW_PX, width_px)
    roomy = width_px >= _ROOMY_PX
    said_px = extent_px((_placed(tally) for tally in found.values()), SMALL_PX) if roomy else 0
    plot_px = width_px - layout.labels_px - said_px - 8
    reach = max(abs(edge) for tally in found.values() for edge in _edges(tally))
    px_each = plot_px / (2 * reach)
    parts = [
        part
        for system, tally in found.items()
        for part in _parts(tally, layout.places[system], px_each)
    ]
    placed = [
        {"y": layout.places[system], "said": _placed(tally)} for system, tally in found.items()
    ]
    return {
        "padding": {"left": 0, "top": 2, "bottom": 4, "right": 4},
        "width": plot_px,
        "height": layout.height_px,
        "layer": [
            *_bars(parts, layout, reach),
            *layout.layers(),
            *(
                [layout.texts(placed, {"value": plot_px + 8}, align="left", fontSize=SMALL_PX)]
                if roomy
                else []
            ),
        ],
    }


def alt(findings: Findings) -> str:
    """Every count."""
    told = "; ".join(
        f"{tally.system}: "
        + ", ".join(f"{tally.verdicts.get(verdict, 0)} {verdict}" for verdict, _ in _ORDER)
        + f", {_placed(tally)}"
        for tally in tallies(findings)
    )
    return f"Verdicts of all comparisons, told from each system's side. {told}."


def _placed(tally: Tally) -> str:
    """``first in 4, last in 1 of 13 tests``."""
    return f"first in {tally.first}, last in {tally.last} of {tally.tests} tests"


def _edges(tally: Tally) -> tuple[float, float]:
    """Left and right end of a bar: the middle of what is not decided stands at zero."""
    count = tally.verdicts.get
    middle = count("undecided", 0) + count("equivalent", 0)
    return -count("slower", 0) - middle / 2, count("faster", 0) + middle / 2


def _parts(tally: Tally, y: float, px_each: float) -> list[Spec]:
    """The pieces of one bar from left to right, with the count where there is room."""
    left = _edges(tally)[0]
    found: list[Spec] = []
    for verdict, tone in _ORDER:
        count = tally.verdicts.get(verdict, 0)
        said = f"{MARKS[verdict]} {count}"
        fits = SMALL_PX * width_em(said) + 4 <= count * px_each
        found.append(
            {
                "y": y,
                "top": y - _BAR_PX / 2,
                "foot": y + _BAR_PX / 2,
                "from": left,
                "to": left + count,
                "middle": left + count / 2,
                "tone": tone,
                "said": said if fits else "",
            }
        )
        left += count
    return found


def _bars(parts: list[Spec], layout: Rows, reach: float) -> list[Spec]:
    x: Spec = {
        "field": "from",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [-reach, reach], "nice": False},
    }
    return [
        {
            "data": {"values": parts},
            "mark": {"type": "rect"},
            "encoding": {
                "y": {**layout.y, "field": "top"},
                "y2": {"field": "foot"},
                "x": x,
                "x2": {"field": "to"},
                "color": toned(),
            },
        },
        layout.texts(parts, {**x, "field": "middle"}, fontSize=SMALL_PX),
    ]


CHART = StudyChart(
    name="wins",
    title="Wins and losses",
    caption="Comparisons of each system with every other one in every cell: ▼ found worse, "
    "? undecided, = equivalent, ▲ found better. First and last are by estimate alone.",
    draw=draw,
    alt=alt,
)
