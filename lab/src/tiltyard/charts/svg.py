"""A specification to an SVG text: static, small, coloured by CSS variables."""

import re
from functools import cache
from html import escape

import vl_convert

from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import FONT, FONTS, LIGHT, config
from tiltyard.units import format_number

_VEGA_LITE = "5.21"
_MARGIN_PX = 12
_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
_PAINT = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')
_TAG = re.compile(r"<[^>]+>")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_USELESS = re.compile(
    r" (?:class|role|aria-[a-z]+|pointer-events|font-family|stroke-miterlimit|xmlns:xlink|version)"
    r'="[^"]*"| opacity="1"| stroke-width="1"'
)
_DISC = re.compile(
    r'<path transform="translate\(([^,]+),([^)]+)\)" '
    r'd="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0(?:Z)?"'
)
_TOLD = re.compile(r'<(path|rect|line) aria-label="([^"]*)"([^>]*)/>')
_TITLE = re.compile(r'<(\w+)( [^>]*?) title="(\d+)"/>')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_HIDDEN = re.compile(r'<text(?: [a-z-]+="[^"]*")* opacity="0"(?: [a-z-]+="[^"]*")*>[^<]*</text>')
_EMPTY = re.compile(r'<path(?: d="(?:M0,0h0v0h0Z)?"| display="none")*/>|<g></g>')


def to_svg(spec: Spec, alt: str, *, titles: bool = False) -> str:
    """Draw a chart.

    The colours become ``var(--name)`` of :data:`tiltyard.charts.theme.LIGHT`, the font is the
    page's, and nothing in it has an id, so that many pictures can share one page.

    Args:
        spec: a Vega-Lite specification without configuration.
        alt: the sentence that stands for the picture.
        titles: whether each mark has its values as a title, which browsers show under a pointer.

    Raises:
        ValueError: if the specification is not valid.
    """
    told: list[str] = []

    def kept(mark: re.Match[str]) -> str:
        told.append(_title(mark[2]))
        return f'<{mark[1]}{mark[3]} title="{len(told) - 1}"/>'

    def titled(mark: re.Match[str]) -> str:
        return f"<{mark[1]}{mark[2]}><title>{told[int(mark[3])]}</title></{mark[1]}>"

    text = _HIDDEN.sub("", _drawn(spec, aria=titles))
    text = _TAG.sub(_slimmed, _TOLD.sub(kept, text) if titles else text)
    text = _DISC.sub(r'<circle cx="\1" cy="\2" r="\3"', text)
    while (fewer := _EMPTY.sub("", text)) != text:
        text = fewer
    text = _TITLE.sub(titled, text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def to_paper(spec: Spec) -> str:
    """Draw a chart for paper: colours as they are, the typeface named; no page is around it.

    Raises:
        ValueError: if the specification is not valid.
    """
    return _drawn(spec)


def to_file(spec: Spec, alt: str) -> str:
    """Draw a chart that stands alone: on its own paper, with other typefaces if ours is not there.

    Raises:
        ValueError: if the specification is not valid.
    """
    alone = {**spec, "background": LIGHT["paper"], "padding": _MARGIN_PX}
    text = _TAG.sub(lambda tag: _USELESS.sub("", tag[0]), _HIDDEN.sub("", _drawn(alone)))
    root = f'<svg role="img" aria-label="{escape(alt)}" font-family="{FONT}" '
    return text.replace("<svg ", root, 1)


def _drawn(spec: Spec, *, aria: bool = False) -> str:
    _know_typeface()
    drawn: str = vl_convert.vegalite_to_svg(
        {**spec, "config": {**config(), "aria": aria}}, vl_version=_VEGA_LITE
    )
    return drawn


@cache
def _know_typeface() -> None:
    """Widths of texts are those of our own typeface, whatever this host has."""
    vl_convert.register_font_directory(str(FONTS))


def _title(description: str) -> str:
    """What a mark stands for, in as many digits as a person reads; what is empty is left out."""
    told = "; ".join(part for part in description.split("; ") if not part.endswith(": "))
    return _LONG.sub(lambda number: format_number(float(number[0]), 4), told)


def _slimmed(tag: re.Match[str]) -> str:
    """A tag with what a still picture needs; text between tags is not touched."""
    text = _USELESS.sub("", tag[0])
    return _PAINT.sub(_variable, _NUMBER.sub(_rounded, text))


def _rounded(number: re.Match[str]) -> str:
    """One decimal: a tenth of a pixel."""
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _variable(paint: re.Match[str]) -> str:
    return f'{paint[1]}="{_VARIABLES.get(paint[2], paint[2])}"'
