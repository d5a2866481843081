"""A specification to an SVG text: static, small, coloured by CSS variables.

This is the only place where a drawn picture is changed, and it is changed as a tree.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Final
from xml.etree import ElementTree

from tiltyard.charts.chart import Spec
from tiltyard.charts.drawings import drawn
from tiltyard.charts.theme import FONT, LIGHT, TEXT_PX, config, text_px
from tiltyard.units import format_number

_MARGIN_PX: Final = 12
_TITLE_PX: Final = 16
_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_VARIABLES: Final = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
_USELESS: Final = {"class", "role", "pointer-events", "stroke-miterlimit", "version"}
_DEFAULTS: Final = {("opacity", "1"), ("stroke-width", "1")}
_TITLED: Final = {"path", "rect", "line"}
_UNSPOKEN: Final = ("tone", "place")
"""Fields that place and paint a mark, and say nothing of it."""
_NUMBER: Final = re.compile(r"-?\d+\.\d{2,}")
_AXIS: Final = re.compile(r"([XY])-axis.* for a (log|linear) scale with values from (\S+) to (\S+)")
_VALUE: Final = re.compile(r"(?:^|; )value: ([^;]+)")
_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")

ElementTree.register_namespace("", _NAMESPACE)


@dataclass(frozen=True)
class Paper:
    """A picture for print."""

    svg: str
    width_px: float
    height_px: float


def to_svg(spec: Spec, alt: str, *, titles: bool = False) -> str:
    """Draw a chart for a page.

    The colours become ``var(--name)`` of :data:`tiltyard.charts.theme.LIGHT`, the font is the
    page's, and nothing in it has an id, so that many pictures can share one page. An axis has its
    scale, and a bar its value, as data: a page shows them on another scale or in another unit.

    Args:
        spec: a Vega-Lite specification without configuration.
        alt: the sentence that stands for the picture.
        titles: whether each mark has its values as a title, which browsers show under a pointer.

    Raises:
        ValueError: if the specification is not valid.
    """
    root = _drawn(spec, scales=True)
    for element in root.iter():
        if titles and _tag(element) in _TITLED and (values := element.get("aria-label")):
            ElementTree.SubElement(element, "title").text = _title(values)
        element.attrib.pop("font-family", None)
        _round(element)
        for paint in ("fill", "stroke"):
            if (colour := element.get(paint)) in _VARIABLES:
                element.set(paint, _VARIABLES[colour])
    return _text(root, {"role": "img", "aria-label": alt})


def to_paper(spec: Spec, margin_px: float = 0) -> Paper:
    """Draw a chart for paper: colours as they are, the typeface named; no page is around it.

    Raises:
        ValueError: if the specification is not valid.
    """
    root = _drawn(spec)
    width_px, height_px = _widened(root, margin_px)
    return Paper(_text(root, {}), width_px, height_px)


def to_file(spec: Spec, alt: str, title: str = "", subtitle: str = "") -> str:
    """Draw a chart that stands alone: on its own paper, with other typefaces if ours is not there.

    Args:
        spec: a Vega-Lite specification without configuration.
        alt: the sentence that stands for the picture.
        title: printed above it, in as many lines as it needs.
        subtitle: below the title.

    Raises:
        ValueError: if the specification is not valid.
    """
    root = _drawn(spec)
    for element in root.iter():
        element.attrib.pop("font-family", None)
    heads = list(_heads(title, subtitle, float(root.get("width", "0"))))
    top_px = sum(line_px for line_px, _ in heads) + (_MARGIN_PX if heads else 0)
    width_px, height_px = _widened(root, _MARGIN_PX, top_px)
    place = {"x": f"{-_MARGIN_PX:g}", "y": f"{-_MARGIN_PX - top_px:g}"}
    sides = {"width": f"{width_px:g}", "height": f"{height_px:g}", "fill": LIGHT["paper"]}
    root.insert(0, ElementTree.Element("rect", place | sides))
    baseline_px = -top_px
    for line_px, element in heads:
        element.set("y", f"{baseline_px + 0.75 * line_px:g}")
        baseline_px += line_px
        root.append(element)
    return _text(root, {"role": "img", "aria-label": alt, "font-family": FONT})


def _drawn(spec: Spec, *, scales: bool = False) -> ElementTree.Element:
    """The picture as a tree, without what a still picture does not need."""
    root = ElementTree.fromstring(drawn(json.dumps({**spec, "config": config()})))
    for element in root.iter() if scales else ():
        _tell_scale(element)
    _prune(root)
    return root


def _prune(element: ElementTree.Element) -> None:
    for child in list(element):
        _prune(child)
        if _is_empty(child):
            element.remove(child)
    for name, value in list(element.attrib.items()):
        if name in _USELESS or (name, value) in _DEFAULTS:
            del element.attrib[name]


def _tell_scale(element: ElementTree.Element) -> None:
    """Of an axis side, scale and ends, nothing without numbers; what is beside; a bar's value."""
    label = element.get("aria-label", "")
    roles = set(element.get("class", "").split())
    if roles & {"role-legend", "role-title"}:
        element.set("data-axis", "beside")
    elif "role-axis" in roles:
        found = _AXIS.search(label)
        told = " ".join(found.groups()).replace(",", "").replace("−", "-") if found else ""
        element.set("data-axis", told)
    elif element.get("aria-roledescription") == "bar" and (value := _VALUE.search(label)):
        element.set("data-v", f"{float(value[1].replace(',', '').replace('−', '-')):.6g}")


def _is_empty(element: ElementTree.Element) -> bool:
    """Whether nothing is seen of an element: hidden text, a path without a line, an empty group."""
    match _tag(element):
        case "text":
            return element.get("opacity") == "0"
        case "path":
            return element.get("d", "") in ("", "M0,0h0v0h0Z") or element.get("display") == "none"
        case "g":
            return len(element) == 0
    return False


def _round(element: ElementTree.Element) -> None:
    """Tenths of a pixel, and discs as circles."""
    for name, value in list(element.attrib.items()):
        if "." in value and not name.startswith("data-"):
            element.set(name, _NUMBER.sub(_tenths, value))
    outline = element.get("d", "")
    radius = outline[1 : outline.find(",")]
    if outline.startswith(f"M{radius},0A{radius},{radius},0,1,1,-{radius},0A{radius},{radius},0,"):
        place = element.attrib.pop("transform", "translate(0,0)")
        x, y = place.removeprefix("translate(").removesuffix(")").split(",")
        del element.attrib["d"]
        element.tag = f"{{{_NAMESPACE}}}circle"
        element.attrib |= {"cx": x, "cy": y, "r": radius}


def _tenths(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _title(description: str) -> str:
    """What a mark stands for, in as many digits as a person reads; what is empty is left out."""
    parts = (part.partition(": ") for part in description.split("; "))
    values = "; ".join(f"{name}: {one}" for name, _, one in parts if one and name not in _UNSPOKEN)
    return _LONG_NUMBER.sub(lambda number: format_number(float(number[0]), 4), values)


def _heads(
    title: str, subtitle: str, width_px: float
) -> Iterator[tuple[float, ElementTree.Element]]:
    """Lines above a picture: the height of each, and its text."""
    for text, size_px, look in (
        (title, _TITLE_PX, {"font-weight": "600", "fill": LIGHT["ink"]}),
        (subtitle, TEXT_PX, {"fill": LIGHT["soft"]}),
    ):
        # Letters of a weight of 600 are a tenth wider.
        letters = max(20, int(len(text) * width_px / (1.1 * text_px(text, size_px) or 1)))
        for line in wrap(text, letters):
            element = ElementTree.Element("text", {"x": "0", "font-size": f"{size_px}px", **look})
            element.text = line
            yield 1.4 * size_px, element


def _widened(root: ElementTree.Element, margin_px: float, top_px: float = 0) -> tuple[float, float]:
    """Room around a picture, and above it; its width and height with it."""
    width_px, height_px = (
        float(root.get(side, "0")) + 2 * margin_px for side in ("width", "height")
    )
    height_px += top_px
    root.set("width", f"{width_px:g}")
    root.set("height", f"{height_px:g}")
    root.set("viewBox", f"{-margin_px:g} {-margin_px - top_px:g} {width_px:g} {height_px:g}")
    return width_px, height_px


def _text(root: ElementTree.Element, attributes: dict[str, str]) -> str:
    for element in root.iter():
        for name in [name for name in element.attrib if name.startswith("aria-")]:
            del element.attrib[name]
    root.attrib = {**attributes, **root.attrib}
    return ElementTree.tostring(root, encoding="unicode")


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
