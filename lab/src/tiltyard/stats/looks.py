"""The profiles: after how many blocks one looks, and how much each look may cut off.

The constants, with looks by signed rank, make the two-sided levels of the looks as equal as the
discrete statistic allows while their joint error rate stays at most 5 %. The *strict* ones need no
assumption, because the levels of their looks add up to less than 5 % (Bonferroni).

A family of headlines claims nothing at a look whose smallest p-value its correction does not let
pass: seven blocks serve one comparison, nine up to six. So a family has looks of its own: the first
one as soon as differences that all point the same way can be claimed beside all others, the ones
between at half of the level of the rest, which finds more at the last one. How they were chosen:
docs/decisions/0033-looks-for-families.md.

The ``fast`` profile is retired: its first look is a t-test at 1 % after five blocks, which claims
up to 9 % where one turn of each block is slower by the same amount. No test of five blocks that is
exact for any noise reaches 5 %: five signs agree by chance in one of sixteen. Plans that were
frozen with it keep their meaning.

The ``long`` profile goes on to 100 blocks, where they cost little. All of its looks have the same
level, those of its families too: docs/decisions/0072-a-long-ladder-where-blocks-are-cheap.md.

Source: Pocock, "Group sequential methods", Biometrika 64 (1977), for looks of equal levels.
"""

from typing import Final

from tiltyard.stats.signed_rank import largest_c, nominal_p

Looks = tuple[tuple[int, int], ...]

LEVEL: Final = 0.05
"""Two-sided error rate of one comparison over all its looks."""

FIXED: Final = "fixed"
"""The profile with one look, after a number of blocks that the study names."""

LONG: Final = "long"
"""The profile that goes on longest."""

LOOKS: Final[dict[str, Looks]] = {
    "quick": ((7, 1), (10, 6)),
    "standard": ((7, 0), (10, 5), (14, 15), (20, 43)),
    "rigorous": ((7, 0), (10, 4), (14, 14), (20, 41), (30, 116)),
    LONG: ((8, 0), (12, 8), (20, 39), (34, 152), (60, 577), (100, 1801)),
    "fast": ((5, 0), (8, 1), (12, 9), (18, 33)),
}
"""Profile → looks, each (blocks, Walsh averages cut off at either end)."""

STRICT_LOOKS: Final[dict[str, Looks]] = {
    "quick": ((7, 0), (10, 6)),
    "standard": ((7, 0), (10, 4), (14, 12), (20, 38)),
    "rigorous": ((7, 0), (10, 3), (14, 11), (20, 35), (30, 109)),
    LONG: ((8, 0), (12, 6), (20, 36), (34, 145), (60, 559), (100, 1761)),
}
"""The same with levels that add up to at most 5 %."""

FAMILY_LOOKS: Final[dict[str, dict[str, Looks]]] = {
    "standard": {
        "standard-9": ((9, 3), (15, 17), (20, 46)),
        "standard-10": ((10, 6), (15, 17), (20, 46)),
        "standard-11": ((11, 8), (15, 18), (20, 47)),
        "standard-12": ((12, 11), (15, 18), (20, 47)),
    },
    "rigorous": {
        "rigorous-9": ((9, 3), (15, 16), (20, 39), (30, 124)),
        "rigorous-10": ((10, 5), (15, 17), (20, 39), (30, 124)),
        "rigorous-11": ((11, 8), (15, 16), (20, 39), (30, 123)),
        "rigorous-12": ((12, 10), (15, 17), (20, 39), (30, 125)),
    },
    LONG: {"long-10": ((10, 3), (14, 13), (20, 39), (34, 154), (60, 580), (100, 1807))},
}
"""Profile → the looks of its families, by the name of their table, the smallest families first."""

FEWEST: Final = 6
"""Values from which on signed ranks reach 5 %: six that agree do so by chance in 1 of 32."""

TABULATED: Final[dict[str, Looks]] = {
    **LOOKS,
    **{name: own for named in FAMILY_LOOKS.values() for name, own in named.items()},
}
"""All looks whose joint law is stored."""

FIRST_BY_T: Final[dict[str, float]] = {"fast": 0.01}
"""Profiles whose first look is a t-test, with its level; that look's number of Walsh averages
means nothing."""

SCALE_OF_T: Final = FIRST_BY_T["fast"] / nominal_p(*LOOKS["fast"][-1])
"""Level of the t-test over that of the looks by rank, at every error rate."""

_BETWEEN: Final = 0.5
"""Level of a family's looks between the first and the last over that of those two; of ``long``
they are alike."""


def shares_of(profile: str) -> tuple[float, ...]:
    """By what the p-value of each look is divided before the smallest one is taken.

    Looks by rank share alike, but for those of families.
    """
    between = len(TABULATED[profile]) - 2
    if profile in LOOKS or profile in FAMILY_LOOKS[LONG]:
        return (SCALE_OF_T if profile in FIRST_BY_T else 1.0, *(1.0 for _ in range(between + 1)))
    return (1.0, *(_BETWEEN for _ in range(between)), 1.0)


def looks(profile: str, strict: bool, blocks: int | None) -> Looks:
    """The looks of a profile: pairs of (blocks, Walsh averages cut off at either end).

    Args:
        profile: ``quick``, ``standard``, ``rigorous``, ``long`` or ``fixed``; ``fast`` of earlier
            plans; a name of :data:`FAMILY_LOOKS`.
        strict: use the constants that hold even if the noise level moves.
        blocks: number of blocks of the ``fixed`` profile, fewer than 6 in a part of a whole that
            is judged together; ignored by the others.

    Raises:
        ValueError: if the profile is unknown, the blocks cannot reach the level, or what is
            asked to hold without a model rests on one.
    """
    if profile == FIXED:
        if blocks is None:
            raise ValueError("the fixed profile needs a number of blocks")
        # A part of a whole that is judged together: by itself it cannot show anything.
        return ((blocks, largest_c(blocks, LEVEL) if blocks >= FEWEST else 0),)
    if strict and profile in FIRST_BY_T:
        raise ValueError(f'"{profile}" rests on a model at its first look, so it is never strict')
    table = STRICT_LOOKS if strict else TABULATED
    if profile not in table:
        known = ", ".join((*LOOKS, FIXED))
        raise ValueError(f'"{profile}" is not a profile. One of: {known}')
    return table[profile]


def nominal_levels_of(profile: str, looks: Looks) -> tuple[float, ...]:
    """The two-sided level of each look by itself."""
    by_rank = [nominal_p(n, c) for n, c in looks]
    return (FIRST_BY_T[profile], *by_rank[1:]) if profile in FIRST_BY_T else tuple(by_rank)
