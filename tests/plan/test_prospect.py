"""What a design cannot decide is said before anything runs."""

from itertools import count

import numpy as np
import pytest

from support.synthetic import synthetic_study
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.prospect import earliest_difference, largest_family, prospects
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import sequential_p
from tiltyard.stats.types import FloatArray

NAMES = ("ext4", "xfs", "btrfs", "ext2", "ext3")


def plan(systems: int = 2, blocks: int | None = None, profile: str = "standard") -> Plan:
    """A plan for so many systems and one workload."""
    fixed = "fixed" if blocks else profile
    return synthetic_study(NAMES[:systems], blocks=0, profile=fixed, fixed_blocks=blocks)[0]


def said(**rules: object) -> str:
    return "; ".join(prospects(plan(**rules)))  # type: ignore[arg-type]


def test_a_usual_study_needs_no_remark() -> None:
    assert said() == ""


def test_three_pairs_cannot_be_told_apart_at_the_first_look() -> None:
    assert said(systems=3) == (
        "3 comparisons of workloads as a whole are corrected together: no difference can be found "
        "before 10 blocks, equivalence from 7"
    )


def test_six_blocks_for_ten_pairs_find_nothing() -> None:
    text = said(systems=5, blocks=6)
    assert "10 comparisons of workloads as a whole are corrected together, and 6 blocks" in text
    assert "only equivalence can be found" in text
    assert "a cell that differs alone can be found among no more than 1 comparisons" in text


def test_one_system_is_compared_with_nothing() -> None:
    assert said(systems=1) == ""


@pytest.mark.parametrize("profile", ["quick", "standard", "rigorous"])
def test_it_agrees_with_the_correction_itself(profile: str) -> None:
    design: Design = plan(profile=profile).design
    smallest = {
        look.blocks: sequential_p(profile, 2.0 ** (1 - look.blocks)) for look in design.looks
    }
    for comparisons in (1, 2, 3, 6, 10, 45, 300):
        significant = [
            blocks for blocks, p in smallest.items() if holm_of_one(p, comparisons) <= 0.05
        ]
        assert earliest_difference(design, comparisons) == next(iter(significant), None)


@pytest.mark.parametrize("blocks", [6, 7, 8, 10])
def test_the_largest_family_is_the_largest(blocks: int) -> None:
    design = plan(blocks=blocks).design
    p = 2.0 ** (1 - blocks)
    lost = next(n for n in count(1) if bh_of_one(p, n) > design.false_discovery_rate)
    assert largest_family(design) == lost - 1


def holm_of_one(p: float, comparisons: int) -> float:
    """Adjusted p-value where all the others show nothing."""
    return float(holm(one_of(p, comparisons))[0])


def bh_of_one(p: float, comparisons: int) -> float:
    """Adjusted p-value where all the others show nothing."""
    return float(benjamini_hochberg(one_of(p, comparisons))[0])


def one_of(p: float, comparisons: int) -> FloatArray:
    """One small p-value among many that are 1."""
    return np.array([p, *[1.0] * (comparisons - 1)])
