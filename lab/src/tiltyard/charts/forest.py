"""A forest plot: one comparison in each of several studies, pooled, and where another is expected.

Source: Lewis and Clarke, "Forest plots: trying to see the wood and the trees", BMJ 322 (2001).
"""

from collections.abc import Iterator

from tiltyard.analysis.line import interval_text, pooled, ratio_text
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.charts import ratio
from tiltyard.charts.chart import Chart, Spec
from tiltyard.charts.theme import FIT, LIGHT, named_axis
from tiltyard.units import count_of

_ROW_PX = 24
_LABELS_SHARE = 0.4
_LEAST_SIZE, _MOST_SIZE = 30.0, 150.0


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Every pair of systems, a block of rows each."""
    rows = [row for pair in _pooled(workload) for row in _rows(pair)]
    if not rows:
        return None
    labels = {str(row["row"]): str(row["label"]) for row in rows}
    ends = [row[key] for row in rows for key in ("low", "ratio", "high")]
    span = ratio.domain(findings, (end for end in ends if isinstance(end, float)))
    better = "right" if workload.index.direction == "higher" else "left"
    y: Spec = {
        "field": "row",
        "type": "nominal",
        "sort": list(labels),
        "title": None,
        "axis": named_axis(labels, most_px=_LABELS_SHARE * width_px),
    }
    return {
        **FIT,
        "width": width_px,
        "height": _ROW_PX * len(rows),
        "padding": {"left": 0, "top": 0, "bottom": 4, "right": 12},
        "data": {"values": rows},
        "layer": [
            *ratio.backdrop(findings),
            *_marks(y, ratio.axis(span, f"ratio, log scale ({better} is better)")),
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """All of them together, then each study's ratio."""
    told = []
    for pair in _pooled(workload):
        each = "; ".join(
            f"{one.study} {ratio_text(one)} ({interval_text(one)})"
            for one in (pair.over.values if pair.over else ())
        )
        told.append(f"{pair.sentence} {pair.system} against {pair.against}: {each}.")
    studies = len(findings.provenance.studies) if findings.provenance else 0
    return f"{workload.display} over {count_of(studies, 'study')}. {' '.join(told)}"


def _pooled(workload: WorkloadFindings) -> list[Comparison]:
    return [pair for pair in workload.index.comparisons if pair.over and pair.over.values]


def _rows(pair: Comparison) -> Iterator[Spec]:
    over = pair.over
    if over is None:
        return
    name = f"{pair.system} against {pair.against}"
    most = max(one.blocks for one in over.values)
    for one in over.values:
        yield {
            "row": f"{name}, {one.study}",
            "label": one.study,
            "kind": "study",
            "ratio": one.ratio,
            "low": one.low,
            "high": one.high,
            "size": _LEAST_SIZE + (_MOST_SIZE - _LEAST_SIZE) * one.blocks / most,
        }
    together = pooled(pair)
    yield {
        "row": f"{name}, pooled",
        "label": f"{name}, pooled",
        "kind": "pooled" if pair.verdict not in ("undecided", "invalid") else "open",
        "ratio": together.ratio,
        "low": together.low,
        "high": together.high,
        "size": 2 * _MOST_SIZE,
    }
    if over.predicted_low is not None:
        yield {
            "row": f"{name}, another study",
            "label": "another study",
            "kind": "another",
            "ratio": None,
            "low": over.predicted_low,
            "high": over.predicted_high,
            "size": 0,
        }


def _marks(y: Spec, x: Spec) -> list[Spec]:
    """Intervals, dashed for what is expected; squares for studies, a diamond for all of them."""
    another = "datum.kind == 'another'"
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5, "color": LIGHT["soft"]},
            "encoding": {
                "y": y,
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
                "strokeDash": {"condition": {"test": another, "value": [4, 4]}, "value": [1, 0]},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.ratio)"}],
            "mark": {"type": "point", "opacity": 1, "strokeWidth": 2, "stroke": LIGHT["ink"]},
            "encoding": {
                "y": y,
                "x": {"field": "ratio", **x},
                "size": {"field": "size", "type": "quantitative", "scale": None},
                "shape": {
                    "condition": {"test": "datum.kind == 'study'", "value": "square"},
                    "value": "diamond",
                },
                "fill": {
                    "condition": {"test": "datum.kind == 'open'", "value": LIGHT["paper"]},
                    "value": LIGHT["ink"],
                },
            },
        },
    ]


CHART = Chart(
    name="studies",
    places=("studies",),
    title="Each study, and all of them",
    caption="Square: a study, larger with more blocks; line: its 95 % interval. Diamond: all "
    "studies pooled, with the interval that the verdict rests on; hollow: undecided, and of too "
    "few studies for a verdict the interval if they spread normally. Dashed: where another study "
    "like these is expected (95 %). Grey band: equivalence margin.",
    draw=draw,
    alt=alt,
)
