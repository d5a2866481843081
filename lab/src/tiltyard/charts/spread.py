"""How far one system's value is uncertain, or scatters: what a whisker shows, in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from tiltyard.analysis.model import Summary

Kind = Literal["interval", "se", "sd"]

WORDS: Final[dict[Kind, str]] = {
    "interval": "line: 95 % interval of the median",
    "se": "line: ± 1 standard error",
    "sd": "line: ± 1 standard deviation",
}
"""What the whisker of each kind says, once a picture."""


@dataclass(frozen=True)
class Spread:
    """A whisker, in base units."""

    kind: Kind
    low: float
    high: float


def spread_of(summary: Summary) -> Spread | None:
    """The whisker of a value: its interval, else what its source gives; ``None`` without any."""
    if summary.median_low is not None and summary.median_high is not None:
        return Spread("interval", summary.median_low, summary.median_high)
    if summary.se is not None:
        return Spread("se", summary.mean - summary.se, summary.mean + summary.se)
    return deviation_of(summary)


def deviation_of(summary: Summary) -> Spread | None:
    """Mean ± one standard deviation; ``None`` where no deviation is known."""
    if summary.sd is None:
        return None
    return Spread("sd", summary.mean - summary.sd, summary.mean + summary.sd)


def replicates(summary: Summary) -> int | None:
    """How many values stand behind a mean, as far as it is known."""
    return summary.n if summary.n is not None else len(summary.values) or None


def whiskers(summaries: Iterable[Summary]) -> str:
    """What the whiskers of some values are, in words; empty where there are none."""
    return in_words(map(spread_of, summaries))


def in_words(spreads: Iterable[Spread | None]) -> str:
    """``line: ± 1 standard error``: each kind among some whiskers."""
    kinds = {spread.kind for spread in spreads if spread is not None}
    return "; ".join(WORDS[kind] for kind in WORDS if kind in kinds)
