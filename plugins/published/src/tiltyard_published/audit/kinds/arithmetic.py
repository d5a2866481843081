"""Sums, products and quotients of printed numbers."""

import math
import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from tiltyard.collected.audited import Outcome
from tiltyard.collected.stated import Number, Stated
from tiltyard.frozen import Frozen
from tiltyard.study.problems import shown
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Scene, UnfitError

_UNITS: Final = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
"""Powers of 1024, as benchmarks of storage mean them."""
_QUANTITY: Final = re.compile(r"([\d,]+(?:\.\d+)?) ?([KMGT]?B|)")
_SIGNS: Final = {"sum": " + ", "product": " × ", "quotient": " / "}


def _quantity(typed: str) -> str:
    if not _QUANTITY.fullmatch(typed):
        raise ValueError(f'{shown(typed)} is not a quantity. Write it like "16 GB", or "1,000"')
    if not math.isfinite(_value(typed)):
        raise ValueError(f"{shown(typed)} is too large for a number")
    return typed


Quantity = Annotated[str, AfterValidator(_quantity)]


class States(Frozen):
    """The result of a calculation that is stated."""

    result: Quantity = Field(description="As printed, with its unit if that is one of size.")
    operation: Literal["sum", "product", "quotient"] = Field(description="What is calculated.")
    terms: tuple[Quantity, ...] = Field(min_length=1, description="As printed, in their order.")
    rounded_to: Number | None = Field(
        None,
        description="What the result is a multiple of, if it is plainly a round number; by default "
        "one of its last digit.",
    )


def _hold(states: States, _scene: Scene) -> Held:
    terms = [_value(term) for term in states.terms]
    if states.operation == "quotient" and 0 in terms[1:]:
        raise UnfitError("terms", "nothing can be divided by 0")
    found = _calculated(states.operation, terms)
    if not math.isfinite(found):
        raise UnfitError("terms", "their result is too large for a number")
    number, unit = _parts(states.result)
    result = Stated(number).value * _UNITS[unit]
    last_digit = 10.0 ** -Stated(number).decimals
    step = Stated(states.rounded_to).value if states.rounded_to else last_digit
    told = f"{_shown(found / _UNITS[unit])} {unit}".rstrip()
    return Held(
        _outcome(found, result, 0.5 * step * _UNITS[unit]),
        states.result,
        told,
        f"{_SIGNS[states.operation].join(states.terms)} = {told}.",
    )


def _outcome(found: float, result: float, half: float) -> Outcome:
    """Exactly it, or what rounds to it."""
    if math.isclose(found, result):
        return "follows"
    return "rounding" if abs(found - result) <= half else "contradicted"


def _calculated(operation: str, terms: list[float]) -> float:
    if operation == "sum":
        return math.fsum(terms)
    if operation == "product":
        return math.prod(terms)
    return terms[0] / math.prod(terms[1:])


def _parts(quantity: str) -> tuple[str, str]:
    match = _QUANTITY.fullmatch(quantity)
    if match is None:
        raise AssertionError(f"{quantity} has been checked")
    return match[1], match[2]


def _value(quantity: str) -> float:
    number, unit = _parts(quantity)
    return Stated(number).value * _UNITS[unit]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


KIND = Kind(
    name="arithmetic",
    about="a sum, a product or a quotient of numbers that are printed in the text",
    states=States,
    hold=_hold,
)
