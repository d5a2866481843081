"""Colours: told apart, legible, and complete for both kinds of light."""

import re

import pytest

from support.specimen import findings as specimen
from tiltyard.charts import theme

THEMES = {"light": theme.LIGHT, "dark": theme.DARK}
TONES = ("better", "worse", "equal", "amount", "band", "panel", "paper")


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_a_colour_has_one_name() -> None:
    assert len(set(theme.LIGHT.values())) == len(theme.LIGHT)


def test_both_themes_name_the_same_colours() -> None:
    assert list(theme.LIGHT) == list(theme.DARK)
    for colours in THEMES.values():
        assert all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in colours.values())


@pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
def test_text_is_legible_on_every_ground(colours: dict[str, str]) -> None:
    grounds = [colour for name, colour in colours.items() if name.startswith(TONES)]
    assert min(contrast(colours["ink"], ground) for ground in grounds) >= 4.5
    assert contrast(colours["soft"], colours["paper"]) >= 4.5
    assert contrast(colours["soft"], colours["panel"]) >= 4.5


@pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
def test_series_stand_out_from_the_paper(colours: dict[str, str]) -> None:
    series = [colour for name, colour in colours.items() if name.startswith("series")]
    assert min(contrast(colour, colours["paper"]) for colour in series) >= 3


def test_many_systems_are_told_apart_by_colour_and_shape() -> None:
    names = [f"system {number}" for number in range(30)]
    signs = theme.signs(specimen(systems=names, blocks=2, workloads=("postmark",)))
    assert len(set(signs.values())) == 30
