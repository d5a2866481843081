"""How cells look: made once each, in the colours of the report."""

import re
from textwrap import wrap
from typing import Final

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from tiltyard.charts.theme import LIGHT

_NUMBER = re.compile(
    r"(?P<before>[^\d+−-]*)(?P<sign>[+−-]?)(?P<whole>\d[\d,]*)(?:\.(?P<decimals>\d+))?(?P<after>\D*)"
)
GENERAL = "General"
_SIZE: Final = 11
"""Points of what has no size of its own; such a line is 15 points high."""
_LINE: Final = 15 / _SIZE


class Looks:
    """Formats of one workbook."""

    def __init__(self, workbook: Workbook, signs: dict[str, tuple[str, str]]) -> None:
        self._workbook = workbook
        self._signs = signs
        self._made: dict[tuple[tuple[str, object], ...], Format] = {}

    def of(self, **properties: object) -> Format:
        """A format with these properties of xlsxwriter; the same one for the same properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._made:
            known = {"font_color": LIGHT["ink"], "valign": "top", **properties}
            self._made[key] = self._workbook.add_format(known)
        return self._made[key]

    def colour_of(self, system: str) -> str | None:
        """The colour of a system; ``None`` for any other word."""
        return LIGHT[self._signs[system][1]] if system in self._signs else None


def height(text: str, width: int, size: int = _SIZE) -> float | None:
    """How high the row of a wrapped text must be, in points; ``None`` where one line will do.

    Excel finds it out by itself, other programs do not. Letters are narrower than digits, mostly,
    which leaves room for another font in the place of Excel's.

    Args:
        text: what stands in it.
        width: of the column, in digits.
        size: of the letters, in points.
    """
    lines = sum(max(1, len(wrap(line, max(1, width)))) for line in text.split("\n"))
    return None if lines == 1 and size == _SIZE else lines * size * _LINE


def number_format(text: str, value: float) -> str:
    """The format in which a number reads as its text does: ``14.1`` → ``0.0``, ``+3 %``, ``± 0.2``.

    A text with fewer digits than the integer has (``18,400``) shows all of those. ``General`` where
    the text is not that number, rounded: then all its digits are shown.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or '"' in text:
        return GENERAL
    whole, decimals, negative = (
        found["whole"],
        found["decimals"] or "",
        found["sign"] in tuple("−-"),
    )
    plain = whole.replace(",", "")
    shown = float(f"{'-' if negative else ''}{plain}.{decimals}")
    zeros = 0 if decimals else len(plain) - len(plain.rstrip("0"))
    if abs(value - shown) > 0.5000001 * 10 ** (zeros - len(decimals)):
        return GENERAL
    digits = ("#,##0" if "," in whole else "0") + ("." + "0" * len(decimals) if decimals else "")
    before, after = _literal(found["before"]), _literal(found["after"])
    if negative:
        return f'{before}{digits}{after};{before}"{found["sign"]}"{digits}{after}'
    return f"{before}{'+' if found['sign'] else ''}{digits}{after}"


def _literal(text: str) -> str:
    return f'"{text}"' if text else ""
