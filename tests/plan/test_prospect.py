"""What a design cannot decide is said before anything runs."""

from itertools import count

import numpy as np
import pytest

from support.contrasts import design_of
from support.synthetic import synthetic_study
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.prospect import earliest_difference, largest_family, prospects
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import sequential_p
from tiltyard.stats.types import FloatArray

NAMES = ("ext4", "xfs", "btrfs", "ext2", "ext3")


def plan(
    systems: int = 2,
    blocks: int | None = None,
    profile: str = "standard",
    workload: str = "iozone",
) -> Plan:
    """A plan for so many systems and one workload."""
    fixed = "fixed" if blocks else profile
    systems_of = NAMES[:systems]
    return synthetic_study(systems_of, (workload,), 0, profile=fixed, fixed_blocks=blocks)[0]


def said(**rules: object) -> str:
    return "; ".join(prospects(plan(**rules)))  # type: ignore[arg-type]


def test_a_usual_study_needs_no_remark() -> None:
    assert said() == ""


def test_three_pairs_cannot_be_told_apart_at_the_first_look() -> None:
    assert said(systems=3) == (
        "3 comparisons of workloads as a whole are corrected together: none of them can be decided "
        "before 10 blocks"
    )


def test_six_blocks_for_ten_pairs_find_nothing() -> None:
    text = said(systems=5, blocks=6)
    assert "10 comparisons of workloads as a whole are corrected together, and 6 blocks" in text
    assert "6 blocks are too few to decide any of them. 9 blocks, or fewer systems" in text
    assert "can only be shown where no more than 1 cell is compared" in text


def test_what_has_been_too_few_at_several_looks_is_never_said_to_be_enough() -> None:
    """Ten blocks decide 17 comparisons at a look of their own, and not as the last of several."""
    names = tuple(f"s{number}" for number in range(7))
    study = synthetic_study(names, ("postmark",), 0, profile="quick", strict=True)[0]
    assert study.design.looks[-1].blocks == 10
    text = "; ".join(prospects(study))
    assert "21 comparisons" in text
    assert "10 blocks are too few to decide any of them. 11 blocks, or fewer" in text


def test_a_workload_without_a_grid_has_no_single_cells() -> None:
    assert "can only be shown" in said(blocks=6)
    assert said(blocks=6, workload="postmark") == ""


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


@pytest.mark.parametrize(
    ("profile", "blocks", "comparisons", "earliest"),
    [
        ("standard", None, 1, 7),
        ("standard", None, 3, 10),
        ("standard", None, 15, 14),
        ("standard", None, 10**6, None),
        ("fixed", 6, 1, 6),
        ("fixed", 6, 3, None),
        ("fast", None, 2, 5),
    ],
)
def test_many_comparisons_need_more_blocks(profile, blocks, comparisons, earliest):
    assert earliest_difference(design_of(profile, blocks), comparisons) == earliest


def test_strict_looks_have_larger_p_values():
    strict = synthetic_study(strict=True, blocks=0)[0].design
    assert earliest_difference(strict, 3) == 10
    assert earliest_difference(strict, 9) == 14
    assert largest_family(strict) < largest_family(design_of())
