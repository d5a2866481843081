"""What no result, however clear, can decide."""

import pytest

from support.contrasts import design_of
from support.synthetic import synthetic_study
from tiltyard.plan.prospect import earliest_difference, largest_family, prospects


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


def test_the_largest_family_is_the_last_in_which_one_difference_can_be_found():
    design = design_of("fixed", 10)
    assert largest_family(design) == int(0.05 / 2**-9)


def test_a_design_that_decides_nothing_is_told_so():
    plan, _ = synthetic_study(blocks=0, fixed_blocks=6, profile="fixed")
    found = list(prospects(plan))
    assert "3 comparisons of workloads as a whole are corrected together" in found[0]
    assert "6 blocks are too few to decide any of them" in found[0]
    assert found[1].startswith("a cell that differs alone can be found among no more than 1 ")
