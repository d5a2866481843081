from dataclasses import replace

import pytest

from support.contrasts import FASTER, design_of, judged, quantity_of
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.judging import judge
from tiltyard.analysis.statements.family import Family
from tiltyard.analysis.statements.verdicts import sentence
from tiltyard.stats.multiple import holm

INVERSE = tuple(1 / ratio for ratio in FASTER)
DOUBLE = tuple(2 * ratio for ratio in FASTER)


def tell(ratios, direction="higher", failed=(), family=1, design=None, to_come=None):
    rules = design or design_of()
    (contrast,) = judged(quantity_of(ratios, direction, failed), rules, to_come).contrasts
    return sentence(contrast, rules, Family(family, "Benjamini–Hochberg"))


@pytest.mark.parametrize(
    ("ratios", "direction", "text"),
    [
        (
            FASTER,
            "higher",
            "b is 31 % faster than a in the work (95 % CI 24 to 39 %, 7 blocks).",
        ),
        (
            INVERSE,
            "higher",
            "b is 23.9 % slower than a in the work (95 % CI 19.4 to 28.1 %, 7 blocks).",
        ),
        (
            DOUBLE,
            "higher",
            "b is 2.63× as fast as a in the work (95 % CI 2.48 to 2.78×, 7 blocks).",
        ),
        (
            FASTER,
            "lower",
            "b takes 31 % more time than a in the work (95 % CI 24 to 39 %, 7 blocks).",
        ),
        (
            INVERSE,
            "lower",
            "b takes 23.9 % less time than a in the work (95 % CI 19.4 to 28.1 %, 7 blocks).",
        ),
        (
            DOUBLE,
            "lower",
            "b takes 2.63× the time of a in the work (95 % CI 2.48 to 2.78×, 7 blocks).",
        ),
    ],
)
def test_a_difference_is_printed_with_its_interval(ratios, direction, text):
    assert tell(ratios, direction) == text


def test_a_small_but_certain_difference_says_that_it_may_not_matter():
    assert tell([1.006, 1.041, 1.024, 1.020, 1.030, 1.028, 1.022]) == (
        "b is 2.4 % faster than a in the work (95 % CI 0.6 to 4.1 %, 7 blocks); "
        "the interval includes differences within the equivalence margin (±2 %)."
    )


@pytest.mark.parametrize(
    ("ratios", "text"),
    [
        (
            [0.992, 1.011, 1.002, 0.998, 1.000, 1.004, 0.997],
            "b and a are equivalent within ±2 % in the work (95 % CI −0.8 to +1.1 %, 7 blocks).",
        ),
        (
            [1.002, 1.007, 1.004, 1.003, 1.005, 1.0045, 1.004],
            "b and a are equivalent within ±2 % in the work "
            "(95 % CI +0.20 to +0.70 %, 7 blocks); a difference of +0.41 % was detected.",
        ),
    ],
)
def test_equivalence_is_told_with_its_region(ratios, text):
    assert tell(ratios) == text


def test_a_detected_difference_is_never_told_as_zero():
    assert tell([1.0001] * 7).endswith("; a difference of +0.0100 % was detected.")


def test_an_undecided_sentence_names_the_kind_of_its_interval():
    quantities = [quantity_of(row) for row in [[0.97, 1.052, 1.01, 0.99, 1.02, 1.005, 1.0] * 2] * 2]
    found = judge(quantities, ["a", "b"], design_of(), holm, 0.05, together=True)[0].contrasts[0]
    text = sentence(found, design_of(), Family(2, "Holm"))
    assert "undecided after 14 blocks (simultaneous 95 % CI " in text


def test_undecided_says_what_is_possible_and_how_far_a_decision_is():
    assert tell([0.97, 1.052, 1.01, 0.99, 1.02, 1.005, 1.0]) == (
        "b against a in the work: undecided after 7 blocks "
        "(95 % CI −3.0 to +5.2 %); a decision needs a new study of ≈ 29 blocks (80 % chance)."
    )


def test_undecided_by_the_correction_says_so():
    (contrast,) = judged(quantity_of(FASTER)).contrasts
    assert contrast.interval is not None
    text = sentence(
        replace(contrast, verdict="undecided", interval=replace(contrast.interval, low=0.0)),
        design_of(),
        Family(234, "Benjamini–Hochberg"),
    )
    assert text.endswith(
        "undecided after 7 blocks (95 % CI 0 to +39 %, extended to equality): "
        "not significant after correction for 234 comparisons (Benjamini–Hochberg)."
    )


def test_hopeless_is_called_so():
    ratios = [1.5, 1 / 1.5, 1.2, 1 / 1.2, 1.3, 1 / 1.3, 1.4, 1 / 1.4, 1.35, 1 / 1.35] * 2
    assert tell(ratios).endswith(
        "; a decision needs a new study of more than 1000 blocks (80 % chance)."
    )


def test_too_early():
    assert tell(FASTER[:4]) == (
        "b against a in the work: undecided; 4 of the 7 blocks that the first look needs."
    )


def test_invalid_counts_the_failed_blocks():
    text = tell(FASTER + FASTER[:3], failed=(1, 3, 5), to_come=0)
    assert text == "b against a in the work: invalid; 3 of 10 blocks (30 %) failed."


def test_what_further_blocks_can_mend_is_not_called_invalid():
    assert tell(FASTER + FASTER[:3], failed=(1, 3, 5)) == (
        "b against a in the work: undecided; 3 of 10 blocks (30 %) failed, too many for a verdict "
        "unless further blocks succeed."
    )


def test_a_grid_cell_is_named_with_its_point():
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), effects={"xfs": 1.5}, blocks=10)
    cells = analyse(plan, run).workloads[0].cells
    cell = next(found for found in cells if found.metric == "random_read")
    assert cell.at_label == "16 MiB file, 4 KiB record"
    assert " in iozone random read, 16 MiB file, 4 KiB record (" in cell.comparisons[0].sentence
