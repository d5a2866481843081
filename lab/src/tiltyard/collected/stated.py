"""Numbers as they are printed: each stands for all numbers that round to it.

Calculated with as intervals: what comes of them holds every result that the numbers behind the
printed ones can have. Source: Moore, "Interval Analysis", Prentice-Hall 1966.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BeforeValidator

from tiltyard.study.problems import shown

_NUMBER: Final = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?|-?\d+(\.\d+)?")


@dataclass(frozen=True)
class Span:
    """What comes of printed numbers; of a ratio, all of them positive."""

    value: float
    """Calculated from the digits as they stand."""
    low: float
    """The least that numbers which round to those can give."""
    high: float

    def over(self, other: "Span") -> "Span":
        """The ratio of this to another one."""
        return Span(self.value / other.value, self.low / other.high, self.high / other.low)

    def plus(self, shift: float) -> "Span":
        """All of it, moved."""
        return Span(self.value + shift, self.low + shift, self.high + shift)

    def times(self, factor: float) -> "Span":
        """All of it, scaled; a negative factor turns it round."""
        ends = sorted((self.low * factor, self.high * factor))
        return Span(self.value * factor, *ends)


def exactly(value: float) -> Span:
    """A number that nothing was rounded of."""
    return Span(value, value, value)


def geometric_mean(spans: Sequence[Span]) -> Span:
    """Of positive numbers, at least one."""
    logs = [(math.log(span.value), math.log(span.low), math.log(span.high)) for span in spans]
    return Span(*(math.exp(math.fsum(side) / len(spans)) for side in zip(*logs, strict=True)))


def arithmetic_mean(spans: Sequence[Span]) -> Span:
    """Of at least one number."""
    sides = zip(*((span.value, span.low, span.high) for span in spans), strict=True)
    return Span(*(math.fsum(side) / len(spans) for side in sides))


@dataclass(frozen=True)
class Stated:
    """A number in a claim, digit by digit."""

    text: str

    @property
    def value(self) -> float:
        """Of the digits."""
        return float(self.text.replace(",", ""))

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.text.partition(".")[2])

    @property
    def span(self) -> Span:
        """All numbers that round to it."""
        half = 0.5 * 10.0**-self.decimals
        return Span(self.value, self.value - half, self.value + half)

    def digits_of(self, value: float) -> str:
        """Another number with as many digits after the point: ``3,960,761``."""
        return f"{value:,.{self.decimals}f}"


def _number(typed: object) -> str:
    if not isinstance(typed, str):
        raise ValueError(f'{shown(typed)} is no text: quotes keep its digits, like "33.40"')
    if not _NUMBER.fullmatch(typed):
        raise ValueError(f'{shown(typed)} is not a printed number. Write it like "3,960,760.5"')
    if not math.isfinite(float(typed.replace(",", ""))):
        raise ValueError(f"{shown(typed)} is too large for a number")
    return typed


Number = Annotated[str, BeforeValidator(_number)]
"""A printed number: text, because 33.40 says more than 33.4."""
Numbers = Annotated[
    tuple[Number, ...],
    BeforeValidator(lambda typed: typed if isinstance(typed, list | tuple) else [typed]),
]
"""One printed number, or a list of them."""
