"""Specifications to SVG texts, as they come from Vega; each is drawn once and then kept.

Drawing is two thirds of the time of a report, and a report is made again far more often than its
findings change. What is kept lies in the user's cache, never in a study folder: a picture becomes
part of a page as it is, and a study may come from somebody else.
"""

import atexit
import contextlib
import json
import secrets
import subprocess
import sys
import threading
import zlib
from base64 import b64decode
from functools import cache, lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tiltyard.charts.theme import FONTS
from tiltyard.errors import HostLacksError, RefusedError
from tiltyard.ownership import cache_directory, require_ours

_VEGA_LITE: Final = "5.21"
_AT_HAND: Final = 256
"""Drawings that are remembered while the forms of a report are printed."""
_KEPT_MAX: Final = 2000
"""Files; a drawing takes some 6 KB."""
_ONE_QUESTION: Final = threading.Lock()


def drawings_directory() -> Path:
    """Where drawings are kept; it need not be there."""
    return cache_directory() / "drawings"


@lru_cache(maxsize=_AT_HAND)
def drawn(spec: str) -> str:
    """The SVG text of a Vega-Lite specification with its configuration, as JSON.

    Raises:
        ValueError: if the specification is not valid.
    """
    file = drawings_directory() / sha256(f"{_drawn_by()}\n{spec}".encode()).hexdigest()
    if (kept := _kept(file)) is None:
        kept = _draw(spec)
        _keep(file, kept)
    return kept


def png(svg: str, scale: float, dpi: int) -> bytes:
    """A picture in dots, with our own typeface."""
    return b64decode(_asked("svg_to_png", svg, scale=scale, ppi=dpi))


def _draw(spec: str) -> str:
    return _asked("vegalite_to_svg", spec, vl_version=_VEGA_LITE)


def _asked(function: str, text: str, **options: object) -> str:
    """What a function of the library that draws makes of a text; bytes are in base 64."""
    with _ONE_QUESTION:
        drawer = _drawer()
        assert drawer.stdin is not None
        assert drawer.stdout is not None
        try:
            drawer.stdin.write(f"{json.dumps([function, text, options])}\n".encode())
            drawer.stdin.flush()
            answer: dict[str, str] = json.loads(drawer.stdout.readline())
        except BaseException as error:
            # Its next answer could be the one to this question.
            _drawer.cache_clear()
            drawer.kill()
            drawer.communicate()
            if not isinstance(error, OSError | ValueError):
                raise
            raise HostLacksError(
                f"what draws pictures has ended (code {drawer.returncode}): there may be too "
                "little memory; it needs 100 MB"
            ) from error
    if "flaw" in answer:
        raise ValueError(answer["flaw"])
    return answer["made"]


@cache
def _drawer() -> "subprocess.Popen[bytes]":
    """The program that draws for this one, started at the first question; no Ctrl-C is for it."""
    program = str(Path(__file__).with_name("drawer.py"))
    drawer = subprocess.Popen(
        # Nothing that lies beside the program is a module of its own.
        [sys.executable, "-BP", program, str(FONTS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    atexit.register(drawer.communicate)
    return drawer


@cache
def _drawn_by() -> str:
    """What a drawing depends on besides its specification: program and typeface."""
    fonts = sha256(b"".join(path.read_bytes() for path in sorted(FONTS.glob("*.otf"))))
    return f"{version('vl-convert-python')} {_VEGA_LITE} {fonts.hexdigest()}"


def _kept(file: Path) -> str | None:
    """A drawing from the cache, if it is there, whole, and nobody else could have put it there."""
    try:
        require_ours(file, "remove it")
        return zlib.decompress(file.read_bytes()).decode()
    except (OSError, RefusedError, zlib.error, UnicodeDecodeError):
        return None


def _keep(file: Path, svg: str) -> None:
    """Keep it if that is possible; a cache that is full loses its oldest half."""
    with contextlib.suppress(OSError, RefusedError):
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        require_ours(file.parent, "remove it")
        there = list(file.parent.iterdir())
        if len(there) >= _KEPT_MAX:
            for old in sorted(there, key=_written_ns)[: _KEPT_MAX // 2]:
                old.unlink(missing_ok=True)
        partial = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        try:
            partial.write_bytes(zlib.compress(svg.encode(), 6))
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def _written_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
