"""A calibration as one HTML page that needs nothing else, and as a Markdown document."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from tiltyard.calibration import words
from tiltyard.calibration.model import Calibration
from tiltyard.calibration.sections import sections
from tiltyard.report.formats.html import prose, style_sheet


def render_page(found: Calibration) -> str:
    """A self-contained HTML5 document in the style of the reports."""
    return (
        _environment(autoescape=True)
        .get_template("page.html.j2")
        .render(
            found=found,
            answer=words.answer(found),
            sections=list(sections(found)),
            identity=words.identity(found),
            failed=words.mark(False),
            style=style_sheet(),
        )
    )


def render_document(found: Calibration) -> str:
    """A Markdown document without names or paths of the machine."""
    return (
        _environment(autoescape=False)
        .get_template("document.md.j2")
        .render(
            answer=words.answer(found),
            sections=list(sections(found)),
            host=words.host_lines(found),
            identity=words.identity(found),
        )
    )


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("tiltyard.calibration"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = prose
    return environment
