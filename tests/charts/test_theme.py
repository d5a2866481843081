"""Colours: told apart, legible, and complete for both kinds of light."""

import math
import re
from itertools import pairwise
from operator import mul
from typing import Literal, get_args

import pytest

from support.specimen import findings as specimen
from tiltyard.charts import theme

THEMES = {"light": theme.LIGHT, "dark": theme.DARK}
Vision = Literal["usual", "protan", "deutan", "tritan"]
VISIONS: dict[Vision, tuple[tuple[float, ...], ...]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deutan": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritan": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""G. Machado, M. Oliveira and L. Fernandes, IEEE TVCG 15(6), 2009: severity 1, linear RGB."""
TO_WHITE = (
    (0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505),
    (0.2126, 0.7152, 0.0722),
    (0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089),
)
"""Linear RGB → XYZ over that of white (D65)."""
JUST_NOTICEABLE = 2.3
"""Distance in L*a*b* that half of all people see."""
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


def lightness_and_colour(colour: str, vision: Vision) -> tuple[float, float, float]:
    """CIE L*a*b* of a colour as somebody with that vision sees it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [min(1.0, max(0.0, sum(map(mul, row, linear)))) for row in VISIONS[vision]]
    x, y, z = (_cube_root(sum(map(mul, row, seen))) for row in TO_WHITE)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _cube_root(share: float) -> float:
    return share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116


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
    names = [f"system {number}" for number in range(40)]
    signs = theme.signs(specimen(systems=names, blocks=2, workloads=("postmark",)))
    assert len(set(signs.values())) == 40


@pytest.mark.parametrize(("first", "others"), [(2, 2), (2, 6), (3, 4), (6, 5), (7, 8)])
def test_levels_of_two_factors_are_told_apart_too(first: int, others: int) -> None:
    names = [f"system {number}" for number in range(first * others)]
    found = specimen(systems=names, blocks=2, workloads=("postmark",))
    systems = tuple(
        one.model_copy(update={"levels": {"fs": f"f{n // others}", "tuning": f"t{n % others}"}})
        for n, one in enumerate(found.systems)
    )
    looks = theme._looks(found.model_copy(update={"systems": systems}))
    assert len(set(looks)) == first * others
    if first * -(-others // 3) <= 6:
        assert len({colour for colour, _ in looks}) == first * others, "bars have no signs"


@pytest.mark.parametrize("vision", get_args(Vision))
@pytest.mark.parametrize("family", ["height", "amount"])
@pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
def test_the_tones_of_an_order_go_one_way_for_everybody(
    colours: dict[str, str], family: str, vision: Vision
) -> None:
    tones = [colour for name, colour in colours.items() if name.startswith(f"{family}-")]
    seen = [lightness_and_colour(tone, vision) for tone in tones]
    steps = [one[0] - other[0] for one, other in pairwise(seen)]
    assert all(step > 0 for step in steps) or all(step < 0 for step in steps)
    assert min(math.dist(one, other) for one, other in pairwise(seen)) > 2 * JUST_NOTICEABLE


@pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
def test_heights_stand_out_from_the_paper(colours: dict[str, str]) -> None:
    heights = [colour for name, colour in colours.items() if name.startswith("height-")]
    assert len(heights) == theme.HEIGHTS
    assert min(contrast(colour, colours["paper"]) for colour in heights) >= 1.6
    assert contrast(heights[-1], colours["paper"]) >= 7


@pytest.mark.parametrize("ground", ["#000000", "#ffffff"])
def test_a_terminal_shows_verdicts_and_signs_on_any_ground(ground: str) -> None:
    assert min(contrast(colour, ground) for colour in theme.TERMINAL.values()) >= 3
    series = [colour for name, colour in theme.LIGHT.items() if name.startswith("series")]
    assert min(contrast(colour, ground) for colour in series) >= 3


def test_verdicts_in_a_terminal_are_told_apart_by_everybody() -> None:
    for vision in get_args(Vision):
        better, worse = (
            lightness_and_colour(theme.TERMINAL[side], vision) for side in ("better", "worse")
        )
        assert math.dist(better, worse) > 10 * JUST_NOTICEABLE
