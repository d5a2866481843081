"""A page in a real browser without a screen."""

import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

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


def accessible(page: str, folder: Path) -> list[tuple[str, str]]:
    """Role and name of everything that a screen reader is told of a page, in reading order."""
    with _driven(page, folder) as ask:
        nodes = ask("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]


def seen_by(page: str, folder: Path, visions: Sequence[str]) -> dict[str, Image.Image]:
    """The page in full as people see it who lack a sort of cones: ``none``, ``deuteranopia`` …"""
    found = {}
    with _driven(page, folder) as ask:
        for vision in visions:
            ask("Emulation.setEmulatedVisionDeficiency", type=vision)
            shot = ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            with Image.open(BytesIO(b64decode(shot))) as picture:
                found[vision] = picture.convert("RGB")
    return found


@contextmanager
def _driven(page: str, folder: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """A page in a browser that obeys: its commands by name, with their parameters."""
    path = folder / "page.html"
    path.write_text(page)
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()
    # The browser reads commands from descriptor 3 and answers on 4.
    script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
    browser = subprocess.Popen(
        [
            "bash", "-c", script, str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu",
            "--no-first-run", f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe",
        ],
        pass_fds=(to_browser, from_browser), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    with browser, os.fdopen(commands, "wb", 0) as told, os.fdopen(answers, "rb") as said:

        def ask(method: str, session: str = "", **parameters: object) -> dict[str, Any]:
            asked = {"id": 1, "method": method, "params": parameters}
            told.write(json.dumps(asked | ({"sessionId": session} if session else {})).encode())
            told.write(b"\0")
            while True:
                text = b"".join(iter(lambda: said.read(1).rstrip(b"\0"), b""))
                message: dict[str, Any] = json.loads(text)
                if "error" in message:
                    raise AssertionError(message["error"])
                if message.get("id") == 1:
                    found: dict[str, Any] = message["result"]
                    return found

        target = ask("Target.createTarget", url="about:blank")["targetId"]
        session = ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        ask("Page.navigate", session, url=path.as_uri())
        ready = (
            "new Promise(done => document.readyState === 'complete' "
            "? done() : addEventListener('load', done))"
        )
        ask("Runtime.evaluate", session, expression=ready, awaitPromise=True)
        yield partial(ask, session=session)
        ask("Browser.close")


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
