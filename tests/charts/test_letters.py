"""Widths of texts, against the typeface itself."""

import pytest
from PIL import ImageFont

from tiltyard.charts.chart import extent_px
from tiltyard.charts.letters import width_em
from tiltyard.charts.theme import FONTS

_EM = 1000
_TYPEFACE = ImageFont.truetype(FONTS / "TiltyardSans-Regular.otf", _EM)
LETTERS = [chr(code) for code in range(32, 127)] + list("µ×–−…·±≥≤²°▲▼●■◆äöüßéÄÖÜ’“”")


@pytest.mark.parametrize("letter", LETTERS)
def test_a_letter_is_as_wide_as_it_is_drawn(letter: str) -> None:
    drawn_em = _TYPEFACE.getlength(letter) / _EM
    assert drawn_em <= width_em(letter) <= drawn_em + 0.055


@pytest.mark.parametrize("name", ["WWWW 100 % MMM", "Red Hat Enterprise Linux 6.4, XFS, optimized"])
def test_a_name_has_room(name: str) -> None:
    drawn_px = 12 * _TYPEFACE.getlength(name) / _EM
    assert drawn_px <= extent_px([name], 12) <= 1.06 * drawn_px + 9
