"""The report as one HTML file that needs nothing else: no network, no script, no other file."""

import json
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from tiltyard.analysis.model import Findings
from tiltyard.charts import theme
from tiltyard.charts.effects import effect_label
from tiltyard.charts.figures import (
    MARKS,
    advantage_text,
    between,
    interval_text,
    percent_better,
    ratio_text,
    verdict_word,
    with_unit,
)
from tiltyard.report import judgement, tables
from tiltyard.report.pictures import hang
from tiltyard.units import digits_of, display_unit, format_duration, format_number, format_value


def render_html(findings: Findings) -> str:
    """The whole report. It prints findings and computes nothing.

    Args:
        findings: what the analysis states, also of a study that is not complete.

    Returns:
        A self-contained HTML5 document in UTF-8, light and dark, for screen and paper.
    """
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            findings=findings,
            pictures=partial(hang, findings),
            signs=theme.signs(findings),
            marks=MARKS,
            theme=theme,
            tables=tables,
            judgement=judgement,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tiltyard.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ratio": ratio_text,
        "interval": interval_text,
        "effect_label": effect_label,
        "value": format_value,
        "number": format_number,
        "advantage": advantage_text,
        "better": percent_better,
        "between": between,
        "verdict_word": verdict_word,
        "with_unit": with_unit,
        "digits_of": digits_of,
        "display_unit": display_unit,
        "duration": format_duration,
        "percent": _percent,
        "p_value": _p_value,
        "document": _document,
        "prose": _prose,
    }
    return environment


def _percent(share: float | None) -> str:
    """``0.034`` → ``3.4 %``; a dash where there is none."""
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _p_value(p: float | None) -> str:
    """Two digits, never zero: ``0.011``, ``< 0.001``."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _document(value: object) -> str:
    """A structure as a person reads it: indented JSON, not ASCII only."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _prose(sentence: str) -> str:
    """A sentence that does not break between a number and its percent sign."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")
