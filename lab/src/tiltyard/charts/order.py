"""The order of trials: did values move with the place in the run?"""

from tiltyard.analysis.model import Findings, TrialLine, WorkloadFindings
from tiltyard.charts import ratio
from tiltyard.charts.chart import Chart, Spec
from tiltyard.charts.theme import FIT, LIGHT, system_colour, system_legend, system_shape

_HEIGHT_PX = 190
_AXIS_PX = 60


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Each trial over its system's own typical value, in the order in which they ran."""
    trials = findings.by_workload.get(workload.name, ())
    measured = [trial for trial in trials if trial.relative is not None]
    if not measured:
        return None
    span = ratio.domain(findings, (trial.relative for trial in measured))
    return {
        **FIT,
        "width": width_px,
        "height": _HEIGHT_PX,
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 10},
        "layer": [
            *ratio.backdrop(findings, "y"),
            *_disturbed(findings),
            _boundaries(findings),
            _lost([trial for trial in trials if trial.relative is None]),
            _points(findings, measured, span, width_px),
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """The sentence about drift, which the picture shows."""
    drift = " ".join(drift.sentence for drift in findings.drifts if drift.workload == workload.name)
    return f"{workload.display}: every trial in the order of the run. {drift}".rstrip()


def _boundaries(findings: Findings) -> Spec:
    """A line before the first trial of each block."""
    return {
        "data": {"values": [{"edge": slot - 0.5} for slot in findings.first_slots.values()]},
        "mark": {"type": "rule", "color": LIGHT["line"], "aria": False},
        "encoding": {"x": {"field": "edge", "type": "quantitative"}},
    }


def _disturbed(findings: Findings) -> list[Spec]:
    """A tint behind each disturbed block."""
    if findings.disturbed is None:
        return []
    slots: dict[int, list[int]] = {}
    for trial in findings.trials:
        if trial.block in findings.disturbed.blocks:
            slots.setdefault(trial.block, []).append(trial.slot)
    edges = [{"from": min(slot) - 0.5, "to": max(slot) + 0.5} for slot in slots.values()]
    return [
        {
            "data": {"values": edges},
            "mark": {"type": "rect", "color": LIGHT["worse-2"], "opacity": 0.5, "aria": False},
            "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}},
        }
    ]


def _lost(trials: list[TrialLine]) -> Spec:
    """Trials without a value: crosses at the foot."""
    return {
        "data": {"values": [{"slot": trial.slot} for trial in trials]},
        "mark": {"type": "text", "text": "✗"},
        "encoding": {
            "x": {"field": "slot", "type": "quantitative"},
            "y": {"value": _HEIGHT_PX - 8},
        },
    }


def _points(
    findings: Findings, trials: list[TrialLine], span: tuple[float, float], width_px: int
) -> Spec:
    legend = system_legend(findings, width_px - _AXIS_PX)
    return {
        "data": {
            "values": [{"slot": t.slot, "system": t.system, "relative": t.relative} for t in trials]
        },
        "mark": {"type": "point", "filled": True, "size": 40, "opacity": 0.9},
        "encoding": {
            "x": {
                "field": "slot",
                "type": "quantitative",
                "title": "place in the order of the run (lines: blocks)",
                "scale": {"nice": False, "zero": False, "padding": 8},
                "axis": {"grid": False, "tickMinStep": 1, "tickCount": 10},
            },
            "y": {"field": "relative", **ratio.axis(span, "relative to own median, log scale")},
            "color": system_colour(findings, legend),
            "shape": system_shape(findings, legend),
        },
    }


CHART = Chart(
    name="order",
    places=("order",),
    title="Order of trials",
    caption="Each point is a trial over its system's median: 1× is typical. A tinted block "
    "was disturbed.",
    draw=draw,
    alt=alt,
)
