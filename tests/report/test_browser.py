"""The page in a real browser: colours arrive, and a phone need not scroll sideways."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from support.judged import judged as told
from support.network_studies import network_study
from support.synthetic import factorial_study
from tiltyard.analysis.findings import analyse
from tiltyard.charts.theme import DARK, LIGHT
from tiltyard.report.html import render_html

CHROMIUM = shutil.which("chromium")
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
document.body.textContent = JSON.stringify({sticks_out, paints, paper});
</script>
"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def probed(page: str, folder: Path) -> dict[str, list[str] | str]:
    """What the browser made of the page on a sheet as wide as a phone."""
    path = folder / "page.html"
    narrow = f"<style>html {{ width: {PHONE_PX}px }}</style>"
    probe = PROBE.replace("PHONE_PX", str(PHONE_PX))
    path.write_text(page.replace("</head>", narrow + "</head>").replace("</body>", probe))
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
            "--window-size=500,900", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    body = re.search(r"<body>(.*)</body>", done.stdout, re.DOTALL)
    assert body is not None
    found: dict[str, list[str] | str] = json.loads(unescape(body[1]))
    return found


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


def test_by_day_on_a_phone(page: str, tmp_path: Path) -> None:
    found = probed(page, tmp_path)
    assert found["sticks_out"] == []
    assert found["paper"] == rgb(LIGHT["paper"])
    assert {rgb(LIGHT[name]) for name in ("series-2", "better-1", "ink")} <= set(found["paints"])


def test_a_network_study_on_a_phone(tmp_path: Path) -> None:
    findings = analyse(*network_study(blocks=7, effects={"optimized": 1.2}))
    found = probed(render_html(findings), tmp_path)
    assert found["sticks_out"] == []


def test_everything_about_the_judging_on_a_phone(tmp_path: Path) -> None:
    findings = told(analyse(*factorial_study(FACTORS, blocks=10, effects={("3.13", "xfs"): 1.1})))
    found = probed(render_html(findings), tmp_path)
    assert found["sticks_out"] == []


def test_by_night(page: str, tmp_path: Path) -> None:
    night = page.replace("screen and (prefers-color-scheme: dark)", "screen")
    assert night != page
    found = probed(night, tmp_path)
    assert found["paper"] == rgb(DARK["paper"])
    assert {rgb(DARK[name]) for name in ("series-2", "better-1", "ink")} <= set(found["paints"])
