"""The page in a real browser: colours arrive, and a phone need not scroll sideways."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageColor

from support.browser import needs_chromium, opened, pictured, seen_by, without_policy
from support.judged import judged as told
from support.network_studies import network_study
from support.pages import page_of
from support.printed_studies import curves
from support.synthetic import factorial_study
from tiltyard.analysis.collected.findings import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.charts.theme import DARK, LIGHT

PHONE_PX = 380
FACTORS = {"filesystem": ("ext4", "xfs", "btrfs"), "kernel": ("3.12", "3.13")}
PROBE = """
<script>
document.querySelectorAll("details").forEach(part => part.open = true);
const shown = [...document.querySelectorAll("body *")];
const sticks_out = shown.filter(part => !part.closest(".scroll, pre")
  && part.getBoundingClientRect().right > PHONE_PX + 1).map(part => part.outerHTML.slice(0, 80));
const paints = [...new Set(shown.filter(part => part instanceof SVGElement)
  .map(part => getComputedStyle(part).fill))];
const paper = getComputedStyle(document.documentElement).backgroundColor;
document.body.textContent = JSON.stringify({sticks_out, paints, paper,
  above: [document.querySelector("h1"), document.querySelector("main > .tools")]
    .map(part => part.getBoundingClientRect().top)});
</script>
"""

pytestmark = needs_chromium


def probed(page: str, folder: Path) -> dict[str, Any]:
    """What the browser made of the page on a sheet as wide as a phone."""
    narrow = f"<style>html {{ width: {PHONE_PX}px }}</style></head>"
    probe = PROBE.replace("PHONE_PX", str(PHONE_PX))
    probed = without_policy(page).replace("</head>", narrow).replace("</body>", probe)
    found: dict[str, Any] = json.loads(opened(probed, folder, 500))
    return found


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


def test_by_day_on_a_phone(page: str, tmp_path: Path) -> None:
    found = probed(page, tmp_path)
    assert found["sticks_out"] == []
    title, button = found["above"]
    assert title < button, "the title comes first"
    assert found["paper"] == rgb(LIGHT["paper"])
    assert {rgb(LIGHT[name]) for name in ("series-2", "better-1", "ink")} <= set(found["paints"])


def test_a_network_study_on_a_phone(tmp_path: Path) -> None:
    findings = analyse(*network_study(blocks=7, effects={"optimized": 1.2}))
    found = probed(page_of(findings), tmp_path)
    assert found["sticks_out"] == []


def test_a_printed_study_on_a_phone_says_why_it_has_no_intervals(tmp_path: Path) -> None:
    page = page_of(analyse_collection(curves(3)))
    assert probed(page, tmp_path)["sticks_out"] == []
    assert "no interval: the source has no repetitions of both" in opened(page, tmp_path)


def test_everything_about_the_judging_on_a_phone(tmp_path: Path) -> None:
    findings = told(analyse(*factorial_study(FACTORS, blocks=10, effects={("3.13", "xfs"): 1.1})))
    found = probed(page_of(findings), tmp_path)
    assert found["sticks_out"] == []


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("screen and (prefers-color-scheme: dark)", "screen"),
        ("<html ", '<html data-theme="dark" '),
    ],
    ids=["as the system", "as chosen"],
)
def test_by_night(page: str, words: str, instead: str, tmp_path: Path) -> None:
    night = page.replace(words, instead)
    assert night != page
    found = probed(night, tmp_path)
    assert found["paper"] == rgb(DARK["paper"])
    assert {rgb(DARK[name]) for name in ("series-2", "better-1", "ink")} <= set(found["paints"])


TABLES = """
<script>
document.querySelectorAll("details").forEach(part => part.open = true);
setTimeout(() => {
  const found = [...document.querySelectorAll(".table")].map(table => {
    const box = table.querySelector(".scroll"), cue = table.querySelector(".more");
    const title = table.querySelector(".title"), button = table.querySelector("button");
    const first = box.querySelector("tbody th");
    const sticky = [...first.parentNode.cells].some(
      cell => getComputedStyle(cell).position === "sticky");
    return {
      id: table.id, sticky, cut: box.scrollWidth > box.clientWidth + 1, told: !cue.hidden,
      in_order: !!(title.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING),
      right: table.getBoundingClientRect().right <= innerWidth,
      wider: table.getBoundingClientRect().width - table.parentNode.getBoundingClientRect().width,
    };
  });
  document.body.textContent = JSON.stringify(found);
}, 200);
</script>
"""


def test_a_table_that_goes_on_says_so_and_keeps_its_first_column(tmp_path: Path) -> None:
    findings = analyse(*network_study(blocks=7, effects={"optimized": 1.2}))
    page = without_policy(page_of(findings)).replace("</body>", TABLES + "</body>")
    tables = json.loads(opened(page, tmp_path, 1280))
    assert len(tables) > 5
    for table in tables:
        assert table["cut"] == table["told"], table
        assert table["sticky"], table
        assert table["in_order"], table
        assert table["right"], table
    assert max(table["wider"] for table in tables) > 0, "one takes the room beside the text"


def test_the_demonstration_looks_as_it_is_laid_out(page: str, tmp_path: Path) -> None:
    with Image.open(pictured(page, tmp_path, 1000, 1600)) as picture:
        seen = picture.convert("RGB")
    colours = {colour: count for count, colour in seen.getcolors(seen.width * seen.height)}
    paper = ImageColor.getrgb(LIGHT["paper"])
    assert seen.getpixel((2, 2)) == paper
    assert 0.6 < colours[paper] / (seen.width * seen.height) < 0.97
    for name in ("ink", "soft", "band", "series-1"):
        assert colours.get(ImageColor.getrgb(LIGHT[name]), 0) > 20, name
    assert rows_with(seen, "worse-3")[0] < 400, "the callout is on the first screen"
    columns = [x for x in range(seen.width) if column_has_ink(seen, x)]
    assert min(columns) >= 60, "the page has a margin"
    assert max(columns) <= seen.width - 15


VISIONS = ("none", "protanopia", "deuteranopia", "tritanopia")
APART = 10.0
"""CIE76 difference by which marks beside each other are told apart at a glance."""
TOLD_APART = (("better-2", "worse-2"), ("series-1", "series-2"))
"""Cells of a map, and marks of two systems."""


def test_marks_are_told_apart_by_people_who_lack_a_sort_of_cones(page: str, tmp_path: Path) -> None:
    """As the browser shows the page to them; signs and words say the same besides."""
    shown = seen_by(page, tmp_path, VISIONS)
    usual = np.asarray(shown["none"])
    for pair in TOLD_APART:
        places = [pixel_of(usual, rgb_of(name)) for name in pair]
        for vision in VISIONS:
            one, other = (lab(shown[vision].getpixel(place)) for place in places)
            assert np.linalg.norm(one - other) > APART, (pair, vision)


def rgb_of(name: str) -> tuple[int, ...]:
    return ImageColor.getrgb(LIGHT[name])


def pixel_of(shown: npt.NDArray[np.uint8], colour: tuple[int, ...]) -> tuple[int, int]:
    """Where a colour of the theme stands on the page."""
    rows, columns = np.nonzero((shown == np.array(colour, np.uint8)).all(axis=2))
    assert len(rows), colour
    return int(columns[len(rows) // 2]), int(rows[len(rows) // 2])


def lab(colour: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """CIE L*a*b* (D65) of an sRGB colour."""
    share = np.array(colour) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ linear / (0.9505, 1.0, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def rows_with(seen: Image.Image, name: str) -> list[int]:
    """Rows of pixels in which a colour of the theme stands."""
    colour = ImageColor.getrgb(LIGHT[name])
    return [
        y for y in range(seen.height) if any(seen.getpixel((x, y)) == colour for x in range(0, 300))
    ]


def column_has_ink(seen: Image.Image, x: int) -> bool:
    """Whether anything but paper stands in a column of pixels."""
    strip = seen.crop((x, 0, x + 1, seen.height))
    return len(strip.getcolors(seen.height) or []) > 1
