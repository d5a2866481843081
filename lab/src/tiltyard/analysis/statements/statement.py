"""What a statement is: a sentence of a report with the test that decides whether it is printed."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

S = TypeVar("S")
T = TypeVar("T")

Shown = Literal["headline", "warning", "comparison", "notice", "further finding", "claim", "rule"]
"""Where a statement is shown: first of all; above that; at each pair and in the answer; under
limitations and warnings; under further findings; in the text of styles; under the rules of
reporting."""
Correction = Literal["family", "verdicts", "sameness"]
"""How false findings are held down: by Benjamini–Hochberg over all tests of a report; by what has
corrected the verdicts that a finding is made of; by the intersection–union principle."""


@dataclass(frozen=True)
class Statement(Generic[S, T]):
    """One line of the registry :data:`tiltyard.analysis.statements.registry.STATEMENTS`."""

    name: str
    shown: Shown
    says: str
    """Template of the sentence."""
    test: str
    """When it applies."""
    make: Callable[[S], T]
    """Evidence → sentences; nothing where the test does not apply."""
    min_blocks: int = 0
    """Fewer blocks than these are not tested."""
    correction: Correction | None = None


def statement(
    shown: Shown, says: str, test: str = ""
) -> Callable[[Callable[[S], T]], Statement[S, T]]:
    """Make a statement of the function that makes its sentences: its name, and its first line."""

    def made(make: Callable[[S], T]) -> Statement[S, T]:
        name = make.__name__.strip("_").replace("_", " ")
        return Statement(name, shown, says, test or inspect.getdoc(make) or "", make)

    return made
