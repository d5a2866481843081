"""Every control of the page in a real browser: legible, its focus seen, none over another."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browser import needs_chromium, opened, without_policy
from support.network_studies import network_study
from support.pages import page_of
from support.printed_studies import curves
from tiltyard.analysis.collected.findings import analyse_collection
from tiltyard.analysis.findings import analyse

pytestmark = needs_chromium

SCRIPT = (Path(__file__).parent / "controls.js").read_text()
PHONE_PX = 390
SHEET_PX = 688
"""A4 without its margins."""
KINDS = {
    "light": ("<html ", '<html data-theme="light" '),
    "dark": ("<html ", '<html data-theme="dark" '),
}


def looked_at(page: str, folder: Path, theme: str, width_px: int | None = None) -> dict[str, Any]:
    """What a probe finds on a page with all of its folded parts open, one system hidden."""
    width = f"<style>html {{ width: {width_px}px }}</style></head>" if width_px else "</head>"
    told = without_policy(page).replace(*KINDS[theme], 1).replace("</head>", width, 1)
    probed = told.replace("</body>", f"<script>{SCRIPT}</script></body>")
    # A window is never narrower than 500 px: the sheet is.
    found: dict[str, Any] = json.loads(opened(probed, folder, max(width_px or 1280, 500)))
    return found


def pages(page: str) -> Iterator[str]:
    """A study of this host, one of a network, a printed one."""
    yield page
    yield page_of(analyse(*network_study(blocks=7, effects={"optimized": 1.2})))
    yield page_of(analyse_collection(curves(3)))


@pytest.mark.parametrize("theme", KINDS)
def test_text_and_controls_have_the_contrast_of_wcag_aa(
    page: str, theme: str, tmp_path: Path
) -> None:
    for own in pages(page):
        found = looked_at(own, tmp_path, theme)
        assert found["count"] > 10
        assert found["faint"] == []
        assert found["edgeless"] == []
        assert found["unmarked"] == []


def test_on_a_phone_no_control_covers_another_and_none_sticks_out(
    page: str, tmp_path: Path
) -> None:
    for own in pages(page):
        found = looked_at(own, tmp_path, "light", PHONE_PX)
        assert found["over"] == []
        assert found["out"] == []
        assert found["hidden"] == 0, "the recomputed picture is as wide as the page"


def test_in_print_there_are_no_controls_and_nothing_is_cut_off(page: str, tmp_path: Path) -> None:
    for own in pages(page):
        assert "@media print" in own
        printed = own.replace("@media screen", "@media not all").replace(
            "@media print", "@media all"
        )
        found = looked_at(printed, tmp_path, "light", SHEET_PX)
        assert [
            one for one in found["names"] if not one.startswith(("BUTTON sort", "SUMMARY"))
        ] == []
        assert found["cut"] == []
