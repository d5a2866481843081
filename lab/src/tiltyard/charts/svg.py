"""A specification to an SVG text: static, small, coloured by CSS variables."""

import re
from html import escape

import vl_convert

from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import LIGHT, config

_VEGA_LITE = "5.21"
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
_EMPTY = re.compile(r'<path(?: d="(?:M0,0h0v0h0Z)?"| display="none")*/>|<g></g>')


def to_svg(spec: Spec, alt: str) -> str:
    """Draw a chart.

    The colours become ``var(--name)`` of :data:`tiltyard.charts.theme.LIGHT`, the font is the
    page's, and nothing in it has an id, so that many pictures can share one page.

    Args:
        spec: a Vega-Lite specification without configuration.
        alt: the sentence that stands for the picture.

    Raises:
        ValueError: if the specification is not valid.
    """
    drawn: str = vl_convert.vegalite_to_svg({**spec, "config": config()}, vl_version=_VEGA_LITE)
    text = _TAG.sub(_slimmed, drawn)
    text = _DISC.sub(r'<circle cx="\1" cy="\2" r="\3"', text)
    while (fewer := _EMPTY.sub("", text)) != text:
        text = fewer
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def _slimmed(tag: re.Match[str]) -> str:
    """A tag with what a still picture needs; text between tags is not touched."""
    text = _USELESS.sub("", tag[0])
    return _PAINT.sub(_variable, _NUMBER.sub(_rounded, text))


def _rounded(number: re.Match[str]) -> str:
    """One decimal: a tenth of a pixel."""
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _variable(paint: re.Match[str]) -> str:
    return f'{paint[1]}="{_VARIABLES.get(paint[2], paint[2])}"'
