"""A document as one HTML5 page, light and dark, for screen and paper."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tiltyard import __version__
from tiltyard.charts import theme
from tiltyard.report.document import Document, Section
from tiltyard.report.formats.budget import Budget
from tiltyard.report.formats.html.grid import Grid
from tiltyard.report.formats.html.pictures import Pictures
from tiltyard.report.formats.html.prose import prose
from tiltyard.report.formats.html.typeface import faces

_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_LINES_BYTES = 1_300_000
"""Of all lines of tables and lists together; typeface and pictures come on top."""
_LONG_ANSWER = 240
"""Letters from which on an answer is printed smaller."""


def render_page(document: Document) -> str:
    """The whole document; everything in it can be read with scripts off.

    Returns:
        A self-contained page. Its script may run because the page names the script's hash;
        nothing else may, and nothing is fetched.
    """
    script = _script()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            sections=lettered(document),
            budget=Budget.of(document, _LINES_BYTES),
            grid=Grid.of(document),
            pictures=Pictures.of(document),
            style=style_sheet(document),
            script=Markup(script),
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            version=__version__,
        )
    )


def style_sheet(document: Document | None = None) -> Markup:
    """The style of every page of ours, with the typeface and the signs of a document's systems."""
    signs = list(document.signs.values()) if document else []
    return Markup(
        _environment().get_template("style.css.j2").render(theme=theme, faces=faces(), signs=signs)
    )


def lettered(document: Document) -> list[tuple[str, Section]]:
    """The sections in the order of print, appendices last, those with their letters."""
    plain = [("", section) for section in document.sections if not section.appendix]
    appendices = [section for section in document.sections if section.appendix]
    return [*plain, *((chr(ord("A") + at), section) for at, section in enumerate(appendices))]


def linked(text: str) -> Markup:
    """A text; an address that is all of it can be followed."""
    if _ADDRESS.fullmatch(text):
        return Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(text)
    return Markup.escape(prose(text))


@cache
def _script() -> str:
    return files(__package__).joinpath("templates/page.js").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "prose": prose,
        "linked": linked,
        "kind": lambda block: type(block).__name__.lower(),
    }
    environment.globals["LONG_ANSWER"] = _LONG_ANSWER
    return environment
