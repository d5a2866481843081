"""Rounding alone never contradicts, and what is beyond rounding always does."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from plugins.published.tests.audit.conftest import hold

from support.collections import collection, metric
from tiltyard.collected.model import Collection, PrintedAs, Reading
from tiltyard.collected.stated import Stated
from tiltyard_published.audit.kinds.mean import Mean

PLAIN = PrintedAs(unit="KB/s", factor=1.0, decimals=1)
STEADY = settings(deadline=None, derandomize=True)
# Without those half-way between two printed numbers: which way they go is a matter of taste.
values = st.floats(1.0, 1e6).filter(lambda value: abs(value * 20 % 2 - 1) > 1e-6)
pairs = st.lists(st.tuples(values, values), min_size=1, max_size=12)
means = st.sampled_from(["geometric-mean", "mean"])
NEW = {"system": "new", "against": "old"}


def printed(found: list[tuple[float, float]]) -> Collection:
    """A study that prints these values of two systems, with one digit after the point."""
    return collection(
        [
            Reading(metric="throughput", system=name, at={"record": place}, mean=round(value, 1))
            for place, pair in enumerate(found)
            for name, value in zip(("old", "new"), pair, strict=True)
        ],
        [metric(printed=PLAIN)],
    )


def mean(kind: Mean, numbers: list[float]) -> float:
    if kind == "mean":
        return math.fsum(numbers) / len(numbers)
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers))


@STEADY
@given(pairs, means, st.integers(0, 3))
def test_what_was_calculated_before_rounding_is_not_contradicted(
    found: list[tuple[float, float]], kind: Mean, decimals: int
) -> None:
    study = printed(found)
    old, new = (mean(kind, [pair[side] for pair in found]) for side in (0, 1))
    percent = f"{100 * (new / old - 1):.{decimals}f}"
    states = {**NEW, "of": kind, "percent": percent}
    assert hold("advantage", states, study).outcome in ("follows", "rounding")
    states = {"system": "new", "of": kind, "number": f"{new:.{decimals}f}"}
    assert hold("mean", states, study).outcome in ("follows", "rounding")


@STEADY
@given(pairs, means, st.sampled_from([-1, 1]))
def test_what_no_rounding_gives_is_contradicted(
    found: list[tuple[float, float]], kind: Mean, side: int
) -> None:
    new = mean(kind, [round(pair[1], 1) for pair in found])
    # No mean moves by more than its numbers may: 0.05 up or down, and the digits of the claim.
    wrong = new + side * 0.2
    if wrong <= 0.05:
        return
    # A geometric mean moves less than its largest number may, but more than 0.05 if others are
    # small: each by at most the relative error of the smallest.
    least = min(round(pair[1], 1) for pair in found)
    if kind == "geometric-mean" and new * 0.05 / (least - 0.05) > 0.1:
        return
    states = {"system": "new", "of": kind, "number": f"{wrong:.2f}"}
    assert hold("mean", states, printed(found)).outcome == "contradicted"


@STEADY
@given(values, values, st.integers(0, 4))
def test_to_the_last_digit(old: float, new: float, decimals: int) -> None:
    study = printed([(old, new)])
    ratio = round(new, 1) / round(old, 1)
    percent = Stated(f"{100 * (ratio - 1):.{decimals}f}")
    assert hold("advantage", {**NEW, "percent": percent.text}, study).outcome == "follows"


@STEADY
@given(pairs, st.floats(1.0, 50.0))
def test_over_n_times_holds_of_what_is_more(found: list[tuple[float, float]], times: float) -> None:
    bound = f"{times:.2f}"
    states = {**NEW, "word": "over", "reading": "as much", "times": bound}
    outcome = hold("times", states, printed(found)).outcome
    if all(new > float(bound) * old for old, new in found):
        assert outcome in ("follows", "rounding")
    if any(new + 0.05 < float(bound) * (old - 0.05) - 0.2 * float(bound) for old, new in found):
        assert outcome == "contradicted"
