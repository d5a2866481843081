"""What each factor does: on average, on each level of another one, and how far those differ."""

from collections.abc import Sequence

from tiltyard.analysis.model import Effect, Findings, WorkloadFindings
from tiltyard.charts import ratio
from tiltyard.charts.chart import ROOMY_PX, Chart, Spec
from tiltyard.charts.theme import FIT, LIGHT, named_axis

_ROW_PX = 22
_LABELS_SHARE = 0.45


def grouped(effects: Sequence[Effect]) -> list[list[Effect]]:
    """Level by level: its main effect, its simple effects, its interactions."""
    groups: dict[tuple[str, str, str], list[Effect]] = {}
    for effect in effects:
        groups.setdefault((effect.topic, effect.factor, effect.level), []).append(effect)
    return list(groups.values())


def effect_label(effect: Effect, *, brief: bool = False) -> str:
    """``kernel 3.13 over 3.12``, ``on filesystem xfs``, ``filesystem xfs against ext4``.

    Where there is little room the levels stand without their factors.
    """
    factor = "" if brief else f"{effect.factor if effect.kind == 'main' else effect.by} "
    if effect.kind == "main":
        return f"{factor}{effect.level} over {effect.over}"
    if effect.kind == "simple":
        return f"on {factor}{effect.by_level}"
    return f"{factor}{effect.by_level} against {effect.by_over}"


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """The effects on the workload's index, level by level."""
    rows = _rows(workload)
    if not rows:
        return None
    brief = width_px < ROOMY_PX
    labels = {str(row): effect_label(effect, brief=brief) for row, effect in enumerate(rows)}
    axis = named_axis(labels, most_px=_LABELS_SHARE * width_px)
    span = ratio.domain(findings, (edge for effect in rows for edge in ratio.edges(effect)))
    better = "right" if workload.index.direction == "higher" else "left"
    return {
        **FIT,
        "width": width_px,
        "height": _ROW_PX * len(rows),
        "padding": {"left": 0, "top": 0, "bottom": 4, "right": 12},
        "data": {"values": [_row(row, effect) for row, effect in enumerate(rows)]},
        "layer": [
            *ratio.backdrop(findings),
            *_marks(_place(rows, axis), ratio.axis(span, f"ratio, log scale ({better} is better)")),
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """The sentences on these effects."""
    sentences = " ".join(effect.sentence for effect in _rows(workload))
    return f"{workload.display}, what each factor does relative to {findings.baseline}. {sentences}"


def _rows(workload: WorkloadFindings) -> list[Effect]:
    of_index = [effect for effect in workload.effects if effect.topic == workload.index.label]
    return [effect for group in grouped(of_index) for effect in group]


def _place(rows: Sequence[Effect], axis: Spec) -> Spec:
    """One row an effect; main effects stand out."""
    mains = [str(row) for row, effect in enumerate(rows) if effect.kind == "main"]
    weight = {"test": f"indexof({mains}, datum.value) >= 0", "value": 600}
    return {
        "field": "row",
        "type": "nominal",
        "sort": [str(row) for row in range(len(rows))],
        "title": None,
        "axis": {**axis, "labelFontWeight": {"condition": weight, "value": 400}},
    }


def _marks(y: Spec, x: Spec) -> list[Spec]:
    """Interval and estimate; a diamond is a difference of differences, hollow is undecided."""
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5, "color": LIGHT["soft"]},
            "encoding": {
                "y": y,
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.ratio)"}],
            "mark": {"type": "point", "opacity": 1, "strokeWidth": 2, "stroke": LIGHT["ink"]},
            "encoding": {
                "y": y,
                "x": {"field": "ratio", **x},
                "size": {"field": "size", "type": "quantitative", "scale": None},
                "shape": {"field": "shape", "type": "nominal", "scale": None},
                "fill": {
                    "condition": {"test": "datum.decided", "value": LIGHT["ink"]},
                    "value": LIGHT["paper"],
                },
            },
        },
    ]


def _row(row: int, effect: Effect) -> Spec:
    return {
        "row": str(row),
        "ratio": effect.ratio,
        "low": effect.low,
        "high": effect.high,
        "shape": "diamond" if effect.kind == "interaction" else "circle",
        "size": 90 if effect.kind == "main" else 50,
        "decided": effect.verdict not in ("undecided", "invalid"),
    }


CHART = Chart(
    name="effects",
    places=("effects",),
    title="What each factor does",
    caption="Bold: a level over the baseline's, averaged over the other factors; below it the same "
    "on each level of another factor. Diamond: how far two of those differ, as a ratio. Line: "
    "interval. Hollow: undecided. Grey band: equivalence margin.",
    draw=draw,
    alt=alt,
)
