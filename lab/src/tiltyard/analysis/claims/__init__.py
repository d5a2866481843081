"""Sentences made of findings: what a white paper's author would have written, with its numbers.

Each file in ``kinds/`` says one sort of sentence; every number in it is printed in a table of the
same document, from the same source. So text and table cannot contradict each other.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tiltyard.analysis.claims.kinds import (
    ahead,
    average,
    deviation,
    first,
    lead,
    level,
    standing,
)
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.model import Findings

__all__ = ["KINDS", "Claim", "claims"]

KINDS: Final[Mapping[str, Callable[[Findings], Iterator[Claim]]]] = {
    "level": level.claims,
    "lead": lead.claims,
    "ahead": ahead.claims,
    "average": average.claims,
    "standing": standing.claims,
    "first": first.claims,
    "deviation": deviation.claims,
}
"""All kinds, in the order in which they are told."""


def claims(findings: Findings, *kinds: str) -> list[Claim]:
    """The claims of some kinds; of all where none is named."""
    return [one for kind in kinds or KINDS for one in KINDS[kind](findings)]
