"""The typeface, embedded: a page looks the same wherever it is opened."""

from base64 import b64encode
from functools import cache
from typing import Final

from tiltyard.charts.theme import FAMILY, FONTS

_WEIGHTS: Final = {"Regular": 400, "SemiBold": 600}


@cache
def faces() -> str:
    """``@font-face`` rules with the font files as ``data:`` addresses."""
    return "\n".join(
        f"@font-face {{ font-family: '{FAMILY}'; font-weight: {weight}; font-style: normal; "
        f"src: url(data:font/otf;base64,{_base64(name)}) format('opentype'); }}"
        for name, weight in _WEIGHTS.items()
    )


def _base64(name: str) -> str:
    return b64encode((FONTS / f"TiltyardSans-{name}.otf").read_bytes()).decode()
