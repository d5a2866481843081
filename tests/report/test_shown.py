"""Units and scales of a whole page in a real browser: numbers and places are those of the lab."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.browser import needs_chromium, opened, without_policy
from support.network_studies import network_study
from support.pages import page_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.charts.svg import to_svg
from tiltyard.report.styles import study
from tiltyard.units import format_number

pytestmark = needs_chromium

MOVED = ("figure-postmark-ranking", "figure-iozone-overview", "figure-postmark-order")
SCRIPT = (Path(__file__).parent / "shown.js").read_text()


def chosen(page: str, folder: Path) -> dict[str, Any]:
    """What a reader sees who chooses."""
    acted = f"<script>const MOVED = {json.dumps(MOVED)};\n{SCRIPT}</script></body>"
    found: dict[str, Any] = json.loads(
        opened(without_policy(page).replace("</body>", acted), folder)
    )
    return found


@pytest.fixture(scope="module")
def seen(page: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return chosen(page, tmp_path_factory.mktemp("shown"))


def linear(spec: object) -> Any:
    """A specification with each logarithmic scale made linear."""
    return json.loads(json.dumps(spec).replace('"type": "log"', '"type": "linear", "zero": false'))


def places(part: ElementTree.Element) -> Iterator[list[float]]:
    """Of each circle and symbol its centre, of each line its ends, but of axes and legends."""
    if "data-axis" in part.attrib:
        return
    tag = part.tag.rpartition("}")[2]
    found = re.search(r"translate\(([-\d.]+),([-\d.]+)\)", part.get("transform", ""))
    if tag == "circle":
        yield [float(part.get(name, "")) for name in ("cx", "cy")]
    elif found and tag in ("path", "line"):
        x, y = float(found[1]), float(found[2])
        ends = [float(part.get(name, "")) for name in ("x2", "y2")] if tag == "line" else []
        yield [x, y, *(at + own for at, own in zip((x, y), ends, strict=False))]
    for child in part:
        yield from places(child)


@pytest.mark.parametrize("id", MOVED)
def test_a_picture_on_a_linear_scale_is_as_the_lab_would_draw_it(
    seen: dict[str, Any], findings: Findings, id: str
) -> None:
    (figure,) = (one for one in study.compose(findings).figures() if one.id == id)
    drawn = ElementTree.fromstring(to_svg(linear(figure.wide), ""))
    wanted = list(places(drawn))
    assert len(wanted) > 8
    assert seen["linear"]["places"][id] == [pytest.approx(one, abs=0.6) for one in wanted]


def test_values_in_another_unit_are_those_of_the_lab(
    seen: dict[str, Any], findings: Findings
) -> None:
    (iozone,) = (one for one in findings.workloads if one.name == "iozone")
    head, *rows = seen["chosen"]["ranking"]
    (column,) = (at for at, text in enumerate(head) if "MiB/s" in text)
    wanted = [[one.system, format_number(one.value / 2**20)] for one in iozone.index.standings]
    assert [[row[1], row[column]] for row in rows] == wanted


def test_ratios_are_percent_with_the_digits_of_their_interval(seen: dict[str, Any]) -> None:
    head, *printed = seen["linear"]["ranking"]
    chosen = seen["chosen"]["ranking"][1:]
    for column in (head.index("relative to ext4"), head.index("interval")):
        for before, after in zip(printed, chosen, strict=True):
            ratios = re.findall(r"\d\.\d+", before[column])
            wanted = [
                f"{100 * float(one) - 100:+.{len(one) - 4}f}\xa0%".replace("-", "−")
                for one in ratios
            ]
            assert re.findall(r"[+−]?[\d.]+\xa0%", after[column]) == wanted or not ratios
    assert any("…" in row[head.index("interval")] for row in chosen)


def test_no_head_keeps_the_unit_that_was_replaced(seen: dict[str, Any]) -> None:
    heads = dict(seen["chosen"]["headed"])
    assert heads.keys() & {"MB/s", "GB/s"}
    for text in [*heads.values(), *seen["chosen"]["panels"]]:
        assert not re.search(r"\b(kB|MB|GB)/s|µs", text), text
    assert all("MiB/s" in text for text in seen["chosen"]["panels"])


def test_axes_have_ticks_on_the_new_scale_and_say_so(seen: dict[str, Any]) -> None:
    assert all("×" in "".join(own) for own in seen["linear"]["ticks"].values())
    assert all("%" in "".join(own) for own in seen["chosen"]["ticks"].values())
    assert seen["chosen"]["notes"] > seen["linear"]["notes"] > 3


def test_it_is_in_the_address_and_reset_puts_everything_back(seen: dict[str, Any]) -> None:
    assert seen["address"] == "#view&unit=percent&axis=linear&rate=MiB%2Fs&time=ms"
    assert seen["same"]


def test_where_nothing_can_be_recomputed_units_can_be_chosen(
    findings: Findings, tmp_path: Path
) -> None:
    design = findings.design.model_copy(update={"unit": "session"})
    shown = chosen(page_of(findings.model_copy(update={"design": design})), tmp_path)
    assert shown["same"]
    assert all("MiB/s" in text for text in shown["chosen"]["panels"])


def test_of_a_curve_only_the_axis_of_values_is_in_another_unit(tmp_path: Path) -> None:
    findings = analyse(*network_study(blocks=7, effects={"optimized": 1.2}))
    shown = chosen(page_of(findings), tmp_path)
    assert shown["same"]
    printed, converted = shown["linear"]["curves"], shown["chosen"]["curves"]
    assert len(printed) == len(converted) > 1
    titles = shown["chosen"]["titles"]
    assert any("MiB/s" in title for title in titles)
    assert not any("bit/s" in title or "µs" in title for title in titles)
    alike = [before == after for before, after in zip(printed, converted, strict=True)]
    assert alike == [at % 2 == 0 for at in range(len(alike))]
