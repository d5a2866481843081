"""Wins and losses: how often each system was found better or worse than the others."""

from collections.abc import Iterable

from tiltyard.analysis.line import MARKS, has_open
from tiltyard.analysis.model import Cell, Findings
from tiltyard.analysis.tallies import Tally, tallies
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.chart import ROOMY_PX, Spec, StudyChart
from tiltyard.charts.rows import Row, Rows, rows_of, texts
from tiltyard.charts.theme import SMALL_PX, extent_px, text_px, toned
from tiltyard.units import count_of

_ROW_PX = 26
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
    by_system = {tally.system: tally for tally in tallies(findings)}
    if not any(tally.verdicts.get(verdict) for tally in by_system.values() for verdict in _DECIDED):
        return None
    rows = Rows(rows_of(findings), _ROW_PX, width_px)
    places = {system: _places_text(tally) for system, tally in by_system.items()}
    roomy = width_px >= ROOMY_PX
    plot_px = width_px - rows.labels_px - (extent_px(places.values(), SMALL_PX) if roomy else 0) - 8
    reach = max(abs(edge) for tally in by_system.values() for edge in _edges(tally))
    data = [
        part
        for row in rows.rows
        if row.key in by_system
        for part in _parts(by_system[row.key], row, plot_px / (2 * reach), places[row.key])
    ]
    x: Spec = {
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [-reach, reach], "nice": False},
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "bar"},
            "encoding": {
                "x": {**x, "field": "from"},
                "x2": {"field": "to"},
                "color": toned(),
            },
        },
        texts("text", {**x, "field": "middle"}, align="center", dx=0),
        *([texts("places", {"value": plot_px + 8}, dx=0)] if roomy else []),
    ]
    return {
        "padding": {"left": 0, "top": 2, "bottom": 4, "right": 4},
        **rows.view(plot_px, data, layers),
    }


def alt(findings: Findings) -> str:
    """Every count."""
    counts = "; ".join(
        f"{tally.system}: "
        + ", ".join(f"{tally.verdicts.get(verdict, 0)} {verdict}" for verdict, _ in _ORDER)
        + f", {_places_text(tally)}"
        for tally in tallies(findings)
    )
    return f"Verdicts of all comparisons, from each system's side. {counts}."


def _places_text(tally: Tally) -> str:
    """``first in 4, last in 1 of 13 tests``."""
    return f"first in {tally.first}, last in {tally.last} of {count_of(tally.tests, 'test')}"


def _edges(tally: Tally) -> tuple[float, float]:
    """Left and right end of a bar: the middle of what is not decided stands at zero."""
    count = tally.verdicts.get
    middle = count("undecided", 0) + count("equivalent", 0)
    return -count("slower", 0) - middle / 2, count("faster", 0) + middle / 2


def _parts(tally: Tally, row: Row, px_each: float, places: str) -> list[Spec]:
    """The pieces of one bar from left to right, with the count where there is room."""
    left = _edges(tally)[0]
    parts: list[Spec] = []
    for verdict, tone in _ORDER:
        count = tally.verdicts.get(verdict, 0)
        text = f"{MARKS[verdict]} {count}"
        fits = text_px(text, SMALL_PX) + 4 <= count * px_each
        parts.append(
            {
                **row.place,
                "from": left,
                "to": left + count,
                "middle": left + count / 2,
                "tone": tone,
                "text": text if fits else None,
                "places": None,
            }
        )
        left += count
    parts[-1]["places"] = places
    return parts


def _read(cells: Iterable[Cell] | None = None) -> str:
    """How to read it; of cells without undecided pairs nothing is said of such."""
    return (
        "Comparisons of each system with every other one in every cell: ▼ found worse, "
        f"{'? undecided, ' if has_open(cells) else ''}= equivalent, ▲ found better. First and last "
        "are by estimate alone."
    )


CHART = StudyChart(
    name="wins",
    places=("results overview",),
    title="Wins and losses",
    caption=_read(),
    legend=lambda findings: _read(cell for own in findings.workloads for cell in own.cells),
    draw=draw,
    alt=alt,
)
