"""Colours and type, in one place, for pictures and pages, by day and by night.

A chart is drawn with the colours of :data:`LIGHT`; :mod:`tiltyard.charts.svg` then replaces each by
the CSS variable of its name, so that one picture serves both. Every colour is therefore unique.
Series follow M. Okabe and K. Ito, *Color Universal Design* (2008), darkened for white paper and
lightened for dark; better and worse are teal and ochre, told apart by all common kinds of colour
vision. A colour never speaks alone: systems also differ in shape, verdicts also in words.

The baseline is grey, what is compared with it has colour. Where a study has several factors, the
first one is the hue and the others are the shade (base, ``deep``, ``pale``) and the shape.
"""

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from PIL import ImageFont

from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts.chart import Spec, series

_COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fcfcfa", "#131618"),
    "panel": ("#f3f3ef", "#1b1f22"),
    "band": ("#eae9e1", "#262b2f"),
    "line": ("#dedfda", "#2f3539"),
    "faint": ("#868b90", "#858d94"),
    "soft": ("#565b60", "#a8b0b6"),
    "ink": ("#1a1d1f", "#eceeef"),
    "accent": ("#1a62b5", "#66b2f4"),
    "series-1": ("#0b6cab", "#5aaee8"),
    "series-2": ("#c4501b", "#f0884c"),
    "series-3": ("#0a8266", "#3cc39c"),
    "series-4": ("#a8548a", "#dd94c3"),
    "series-5": ("#a57700", "#deb23e"),
    "series-6": ("#4b93c4", "#9bd0f2"),
    "series-7": ("#6b6f78", "#aab1ba"),
    "series-8": ("#8a5432", "#c99873"),
    "deep-1": ("#063b5e", "#b5dbf5"),
    "pale-1": ("#5297c3", "#376a8e"),
    "deep-2": ("#6c2c0f", "#f8c9ae"),
    "pale-2": ("#d2784f", "#95542f"),
    "deep-3": ("#064838", "#a7e4d2"),
    "pale-3": ("#429f89", "#23735c"),
    "deep-4": ("#5c2e4c", "#f0cfe4"),
    "pale-4": ("#bc7ba5", "#855975"),
    "deep-5": ("#5b4100", "#f0dca8"),
    "pale-5": ("#b28b26", "#7a6222"),
    "deep-7": ("#3b3d42", "#d9dce0"),
    "pale-7": ("#8d9097", "#63676c"),
    "better-4": ("#47ae9d", "#21786b"),
    "better-3": ("#7bc7b8", "#216257"),
    "better-2": ("#aedcd1", "#1f4d46"),
    "better-1": ("#d8eee8", "#1d3834"),
    "equal": ("#e5e5e1", "#2e3438"),
    "worse-1": ("#f8ebd3", "#3c3120"),
    "worse-2": ("#f1d5a4", "#543f20"),
    "worse-3": ("#e7b96b", "#6d4f1f"),
    "worse-4": ("#d99a44", "#86601f"),
    "amount-1": ("#f0f3f6", "#1d242a"),
    "amount-2": ("#dfe7ee", "#23313d"),
    "amount-3": ("#c9d7e4", "#2a4051"),
    "amount-4": ("#aec4d7", "#325067"),
    "amount-5": ("#91aecb", "#3a617e"),
    "height-1": ("#a3cfb4", "#384b85"),
    "height-2": ("#72bdb3", "#31639c"),
    "height-3": ("#46a5b7", "#307daf"),
    "height-4": ("#2b87b1", "#409ab5"),
    "height-5": ("#2a68a1", "#63b5b1"),
    "height-6": ("#2b4a88", "#92d0ae"),
    "height-7": ("#262f69", "#cdebb0"),
}
"""Name → colour by day and by night."""
LIGHT = {name: day for name, (day, _) in _COLOURS.items()}
DARK = {name: night for name, (_, night) in _COLOURS.items()}

FAMILY = "Tiltyard Sans"
"""The typeface of pictures, pages and PDF: a subset of Inter, in ``fonts/``; weights 400, 600."""
FONTS = Path(__file__).parent / "fonts"
FONT = f"'{FAMILY}', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, monospace"
TEXT_PX = 12
SMALL_PX = 11

HEIGHTS = sum(name.startswith("height-") for name in LIGHT)
"""Tones for lines and areas that stand in an order, the last for the most; they stand out from
the paper themselves, where amounts are grounds for figures."""

SERIES = tuple(name for name in LIGHT if name.startswith("series-"))
"""Hues for things side by side."""
_GREY = "series-7"
_HUES = (_GREY, *(name for name in SERIES if name != _GREY))
"""Of a study with one factor: the baseline's, then the others'."""
_SHADED = tuple(name for name in _HUES if f"deep-{name[-1]}" in LIGHT)
"""Hues of a study with several factors: those that have shades."""
_SHADES = ("series", "deep", "pale")
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down")
_GLYPHS = ("●", "■", "◆", "▲", "▼")

TERMINAL = {"better": "#1c8a7b", "worse": "#b5761d"}
"""Teal and ochre for text on whatever ground a terminal has."""

FIT: Spec = {"autosize": {"type": "fit-x", "contains": "padding"}}
"""The width of a picture is that of all that is in it; Vega finds room for names and texts."""

_EM = 1000
_SYMBOL_PX = 30
"""Room of a symbol of the legend, and between its columns."""

STRENGTHS = ((1.1, 1), (1.25, 2), (2.0, 3), (float("inf"), 4))
"""Up to which ratio of better to worse a difference has which strength of colour."""


def system_colour(findings: Findings, legend: Spec | None = None) -> Spec:
    """Encoding of each system's colour, the same in every picture."""
    colours = [LIGHT[colour] for colour, _ in _looks(findings)]
    scale: Spec = {"domain": series(findings), "range": colours}
    return {"field": "system", "scale": scale, "legend": legend}


def system_shape(findings: Findings, legend: Spec | None = None) -> Spec:
    """Encoding of each system's shape; eight colours and five shapes make 40 that differ."""
    shapes = [_SHAPES[shape] for _, shape in _looks(findings)]
    scale: Spec = {"domain": series(findings), "range": shapes}
    return {"field": "system", "scale": scale, "legend": legend}


def signs(findings: Findings) -> dict[str, tuple[str, str]]:
    """Each system's sign in running text: a glyph of its shape, and the name of its colour."""
    looks = zip(series(findings), _looks(findings), strict=True)
    return {system: (_GLYPHS[shape], colour) for system, (colour, shape) in looks}


def hue_of(colour: str) -> str:
    """``series-1`` for ``deep-1``: for grounds that are not ours, as in a terminal."""
    return f"series-{colour.rpartition('-')[2]}"


def system_legend(findings: Findings, width_px: int) -> Spec:
    """Where systems cannot be named beside their marks: in as many columns as there is room for."""
    names = series(findings)
    columns = max(1, min(len(names), width_px // (extent_px(names) + _SYMBOL_PX)))
    return {"columns": columns, "labelLimit": width_px - _SYMBOL_PX}


def text_px(text: str, size_px: int = TEXT_PX) -> float:
    """How wide a text is in our typeface."""
    return size_px * _typeface().getlength(text.replace("\n", " ")) / _EM


def extent_px(texts: Iterable[str], size_px: int = TEXT_PX) -> int:
    """Room for the widest of some texts, with some air."""
    return math.ceil(max((text_px(text, size_px) for text in texts), default=0.0)) + 8


def distinct(names: Iterable[str], room_px: float) -> dict[str, str]:
    """Names that fit, and differ where the names do: the end of each is left out, or its middle."""
    known = list(dict.fromkeys(names))
    ends = {name: _shortened(name, room_px, 0) for name in known}
    if len(set(ends.values())) == len(known):
        return ends
    return {name: _shortened(name, room_px, 0.5) for name in known}


def named_axis(names: Mapping[str, str], size_px: int = TEXT_PX, most_px: float = 0) -> Spec:
    """An axis that shows other words than the data hold.

    Args:
        names: value → what is printed at the axis.
        size_px: of the type.
        most_px: room for the longest of them; 0 if all have the room that they need.
    """
    needed_px = extent_px(names.values(), size_px)
    cut = 0 < most_px < needed_px
    return {
        "labelExpr": f"{json.dumps(names)}[datum.value]",
        "labelFontSize": size_px,
        "labelLimit": math.floor(most_px) - 6 if cut else 0,
        "minExtent": math.floor(most_px) if cut else needed_px,
    }


def toned() -> Spec:
    """Encoding of the field ``tone``: the name of a colour of the theme."""
    names = list(LIGHT)
    return {
        "field": "tone",
        "type": "nominal",
        "scale": {"domain": names, "range": [LIGHT[name] for name in names]},
        "legend": None,
    }


def config() -> Spec:
    """Vega-Lite configuration of every chart."""
    text: Spec = {"labelColor": LIGHT["soft"], "titleColor": LIGHT["soft"]}
    sizes: Spec = {
        "labelFontSize": SMALL_PX,
        "titleFontSize": SMALL_PX,
        "titleFontWeight": "normal",
    }
    return {
        "background": None,
        "font": FAMILY,
        "padding": 0,
        "view": {"stroke": None},
        "text": {"fontSize": TEXT_PX, "color": LIGHT["ink"]},
        "axis": {
            **text,
            **sizes,
            "domain": False,
            "ticks": False,
            "gridColor": LIGHT["line"],
            "labelPadding": 6,
            "labelSeparation": 6,
            "titlePadding": 8,
        },
        "axisY": {"grid": False, "labelColor": LIGHT["ink"], "labelFontSize": TEXT_PX},
        "legend": {
            **text,
            **sizes,
            "orient": "top",
            "title": None,
            "labelFontSize": TEXT_PX,
            "labelColor": LIGHT["ink"],
            "symbolOpacity": 1,
            "columnPadding": 18,
            "labelLimit": 240,
            "gradientStrokeColor": LIGHT["line"],
        },
        "title": {
            "anchor": "start",
            "color": LIGHT["ink"],
            "fontSize": TEXT_PX,
            "fontWeight": 600,
            "subtitleColor": LIGHT["soft"],
            "subtitleFontSize": SMALL_PX,
            "offset": 6,
        },
        "concat": {"spacing": 16},
    }


@cache
def _typeface() -> ImageFont.FreeTypeFont:
    path = FONTS / "TiltyardSans-Regular.otf"
    return ImageFont.truetype(path, _EM, layout_engine=ImageFont.Layout.BASIC)


def _shortened(text: str, room_px: float, tail: float) -> str:
    """As much as fits, with an ellipsis before the last ``tail`` of what is kept."""
    if text_px(text) <= room_px:
        return text
    for kept in range(len(text) - 1, 0, -1):
        behind = int(kept * tail)
        cut = f"{text[: kept - behind].rstrip()}…{text[len(text) - behind :].lstrip()}"
        if text_px(cut) <= room_px:
            return cut
    return "…"


def _looks(findings: Findings) -> list[tuple[str, int]]:
    """Colour and number of the shape of each system, in the study's order; the baseline is grey."""
    systems = findings.systems
    base = next(system for system in systems if system.name == findings.baseline)
    if len(base.levels) < 2:
        first = systems.index(base)
        turns = ((place - first) % len(systems) for place in range(len(systems)))
        return [(_HUES[turn % len(_HUES)], turn % len(_SHAPES)) for turn in turns]
    factor = crossing(findings).factor
    own = [system.levels.get(factor, "") for system in (base, *systems)]
    others = [
        tuple(level for name, level in system.levels.items() if name != factor)
        for system in (base, *systems)
    ]
    hues, shades = list(dict.fromkeys(own)), list(dict.fromkeys(others))
    looks: list[tuple[str, int]] = []
    for hue, shade in zip(map(hues.index, own[1:]), map(shades.index, others[1:]), strict=True):
        # A fourth shade is another hue, which no level has while there are hues left: bars have
        # no signs.
        hue += len(hues) * (shade // len(_SHADES))
        number = _SHADED[hue % len(_SHADED)][-1]
        colour, shape = f"{_SHADES[shade % len(_SHADES)]}-{number}", shade + hue // len(_SHADED)
        taken = {own for name, own in looks if name == colour}
        free = (turn % len(_SHAPES) for turn in range(shape, shape + len(_SHAPES)))
        sign = next((one for one in free if one not in taken), shape % len(_SHAPES))
        looks.append((colour, sign))
    return looks
