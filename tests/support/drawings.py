"""Every picture that can be drawn of some findings, of whichever kind its chart is."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

from PIL import Image

from tiltyard.analysis.model import Findings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import WIDE_PX, Picture, Spec
from tiltyard.charts.theme import text_px

NAMES = tuple(chart.name for chart in CHARTS)
_TRANSFORM = re.compile(r"(translate|rotate)\(([-\d.]+)(?:,\s*([-\d.]+))?\)")


@dataclass(frozen=True)
class Drawing:
    """One picture, not yet fitted to a width."""

    of: str
    """The workload, as far as it has one."""
    picture: Picture

    @property
    def chart(self) -> str:
        return self.picture.chart

    @property
    def name(self) -> str:
        """``iozone-ranking``, ``wins`` of a whole study."""
        return "-".join(filter(None, (self.of, self.chart)))

    def draw(self, width_px: int) -> Spec | None:
        return self.picture.draw(width_px)

    def alt(self) -> str:
        return self.picture.alt()


def drawings(findings: Findings) -> list[Drawing]:
    """All that suit these findings; a system's pictures of the last system only."""
    return [
        Drawing(workload.name if workload else "", picture)
        for workload in (*findings.workloads, None)
        for chart in CHARTS
        for picture in chart.pictures(findings, workload)
        if picture.system in ("", findings.systems[-1].name) and picture.draw(WIDE_PX) is not None
    ]


@dataclass(frozen=True)
class Box:
    """Where a text stands in a drawn picture, in px."""

    text: str
    left: float
    right: float
    top: float
    foot: float

    def meets(self, other: "Box", slack_px: float = 1.0) -> bool:
        """Whether two texts stand on each other by more than a hair."""
        return (
            min(self.right, other.right) - max(self.left, other.left) > slack_px
            and min(self.foot, other.foot) - max(self.top, other.top) > 3 * slack_px
        )


def overlaps(svg: str) -> list[tuple[str, str]]:
    """Texts of a picture that stand on each other."""
    boxes = list(_boxes(ElementTree.fromstring(svg), 0.0, 0.0))
    return [(one.text, other.text) for one, other in combinations(boxes, 2) if one.meets(other)]


def beyond(svg: str, slack_px: float = 4.0) -> list[str]:
    """Texts of a picture that its edges cut."""
    root = ElementTree.fromstring(svg)
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    return [
        box.text
        for box in _boxes(root, 0.0, 0.0)
        if box.left < -slack_px
        or box.right > width + slack_px
        or box.top < -slack_px
        or box.foot > height + slack_px
    ]


def _boxes(element: ElementTree.Element, x: float, y: float) -> Iterator[Box]:
    """All texts with their places, turned ones left out."""
    for kind, first, second in _TRANSFORM.findall(element.get("transform") or ""):
        if kind == "rotate" and float(first) != 0:
            return
        if kind == "translate":
            x, y = x + float(first), y + float(second or 0)
    text = "".join(element.itertext()).strip() if element.tag.endswith("text") else ""
    if text:
        size_px = float((element.get("font-size") or "12px").removesuffix("px"))
        width_px = text_px(text, size_px)
        before = {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor") or "", 0.0)
        left = x - before * width_px
        yield Box(text, left, left + width_px, y - 0.75 * size_px, y + 0.22 * size_px)
        return
    for child in element:
        yield from _boxes(child, x, y)


def ink(png: bytes) -> float:
    """Share of pixels that something was drawn on."""
    histogram = Image.open(BytesIO(png)).convert("RGBA").getchannel("A").histogram()
    return 1 - histogram[0] / math.fsum(histogram)
