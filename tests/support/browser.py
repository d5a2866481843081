"""A page in a real browser without a screen."""

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from support.patience import PATIENCE_S

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def without_policy(page: str) -> str:
    """A page in which a test's own script may run as well."""
    return re.sub(r"<meta http-equiv=.*?>", "", page)


def opened(page: str, folder: Path, width_px: int = 1200) -> str:
    """What is in the body of a page when the browser has done with it."""
    shown = _run(page, folder, width_px, "--virtual-time-budget=3000", "--dump-dom")
    body = re.search(r"<body[^>]*>(.*)</body>", shown, re.DOTALL)
    assert body is not None
    return unescape(body[1])


def pictured(page: str, folder: Path, width_px: int, height_px: int) -> Path:
    """A picture (PNG) of the top of a page."""
    picture = folder / "page.png"
    _run(page, folder, width_px, f"--screenshot={picture}", height_px=height_px)
    return picture


def _run(page: str, folder: Path, width_px: int, *action: str, height_px: int = 900) -> str:
    path = folder / "page.html"
    path.write_text(page)
    return subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--hide-scrollbars", "--disable-background-networking",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width_px},{height_px}", *action, path.as_uri(),
        ],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    ).stdout  # fmt: skip
