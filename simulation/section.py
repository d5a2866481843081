"""What one section of the document is: its simulation, its text, and its lines of the summary."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

Found = TypeVar("Found")


@dataclass(frozen=True)
class Line:
    """A line of the summary, with the unit in its cells."""

    what: str
    bound: str
    """What is held to; ``–`` where nothing is promised."""
    here: str
    """What came out."""
    rival: bool = False
    """Of a rule that others use; those stand last."""


@dataclass(frozen=True)
class Section(Generic[Found]):
    """Simulated, told and summed up by itself; one file, and one line in ``sections.SECTIONS``."""

    name: str
    """Gives the section a stream of random numbers of its own."""
    simulate: Callable[[int, int], Found]
    """From the number of comparisons of each kind, and a seed."""
    told: Callable[[Found], str]
    """In Markdown, from its heading on; without one it continues the section before."""
    lines: Callable[[Found], Sequence[Line]] = lambda _: ()

    def run(self, paths: int, seed: int) -> Found:
        """What it finds; the same whatever other sections there are."""
        stream = np.random.SeedSequence([seed, *self.name.encode()])
        return self.simulate(paths, int(stream.generate_state(1)[0]))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; numbers stand to the right."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(share: float, digits: int = 1) -> str:
    """``4.7``; the sign stands in the head of the table or in the text."""
    return f"{100 * share:.{digits}f}"


def span(shares: Iterable[float]) -> str:
    """``4.7–5.1 %``."""
    found = list(shares)
    return f"{percent(min(found))}–{percent(max(found))} %"
