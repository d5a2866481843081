"""A calibration as one HTML page that needs nothing else, and as a Markdown document."""

from typing import Final

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from tiltyard.calibration import words
from tiltyard.calibration.model import Calibration
from tiltyard.calibration.sections import sections
from tiltyard.charts import theme

_BREAK_NOT: Final = "\N{NO-BREAK SPACE}"


def render_page(found: Calibration) -> str:
    """A self-contained HTML5 document in the style of the reports."""
    return (
        _environment(autoescape=True)
        .get_template("calibration/page.html.j2")
        .render(
            found=found,
            answer=words.answer(found),
            sections=list(sections(found)),
            identity=words.identity(found),
            failed=words.mark(False),
            theme=theme,
        )
    )


def render_document(found: Calibration) -> str:
    """A Markdown document without names or paths of the machine."""
    return (
        _environment(autoescape=False)
        .get_template("calibration/document.md.j2")
        .render(
            answer=words.answer(found),
            sections=list(sections(found)),
            host=words.host_lines(found),
            identity=words.identity(found),
        )
    )


def _environment(*, autoescape: bool) -> Environment:
    """Our templates, and the reports' own for their style sheet."""
    environment = Environment(
        loader=PrefixLoader(
            {
                "calibration": PackageLoader("tiltyard.calibration"),
                "report": PackageLoader("tiltyard.report"),
            }
        ),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = lambda text: text.replace(" %", f"{_BREAK_NOT}%")
    return environment
