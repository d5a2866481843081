"""Commands of one mean whose executions vary: is a trial's mean the mean, and what is claimed?

Both ways to choose how often a trial executes its command are judged by the standard profile. Ours
uses the functions that a run asks in its first block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import bounds_of, outcome
from simulation.section import Line, Section, percent, span, table
from tiltyard.plan.program import AT_LEAST_S
from tiltyard.run.sizing import Asked, Tried, executions_for, further
from tiltyard.stats.types import FloatArray

PATHS_MOST: Final = 1_500
BLOCKS: Final = 20
MEANS_S: Final = (0.005, 0.015, 0.030, 0.045, 0.080)
STEADY_CV: Final = 0.02
"""Of the other command, which has the same mean."""
ROPE: Final = float(np.log1p(0.02))

ASKED: Final = Asked(AT_LEAST_S)

Draw = Callable[[np.random.Generator, int], FloatArray]
"""Times of so many executions, shape (executions,), of mean 1."""


def steady(rng: np.random.Generator, number: int) -> FloatArray:
    """The command that is compared against."""
    return rng.normal(1, STEADY_CV, number)


LAWS: Final[dict[str, Draw]] = {
    "half or one and a half of it": lambda rng, number: rng.choice((0.5, 1.5), number),
    "a tenth take three times as long": lambda rng, number: (
        rng.choice((1.0, 3.0), number, p=(0.9, 0.1)) / 1.2
    ),
}


@dataclass(frozen=True)
class ExecutionRates:
    """One law and mean."""

    paths: int
    law: str
    mean_s: float
    bias: dict[str, float]
    """Way → the mean of its trials less that of the law, as a share of it."""
    false: dict[str, float]
    """Way → comparisons with a difference claimed, of two commands of this mean."""
    executions: float
    """In a trial of ours, on average."""


def until_enough(
    rng: np.random.Generator, draw: Draw, mean_s: float, number: int
) -> list[FloatArray]:
    """The executions of trials that go on until they have taken long enough."""
    trials = []
    for _ in range(number):
        times_s = mean_s * draw(rng, 2 + int(3 * AT_LEAST_S / mean_s))
        trials.append(times_s[: 1 + int(np.searchsorted(times_s.cumsum(), AT_LEAST_S))])
    return trials


def tried(rng: np.random.Generator, draw: Draw, mean_s: float) -> Tried:
    """What a command tells before its first trial."""
    (first_s,) = until_enough(rng, draw, mean_s, 1)
    more_s = mean_s * draw(rng, further(first_s.tolist(), float(first_s.sum()), ASKED))
    return Tried(len(first_s), tuple(np.concatenate([first_s, more_s]).tolist()))


def execution_rates(paths: int, seed: int) -> tuple[ExecutionRates, ...]:
    """Every law at every mean; the same seed gives the same rates.

    Args:
        paths: comparisons simulated of each kind; no more than :data:`PATHS_MOST` are.
        seed: each kind has a stream of its own.
    """
    kinds = [(law, mean_s) for law in LAWS for mean_s in MEANS_S]
    streams = np.random.SeedSequence(seed).spawn(len(kinds))
    return tuple(
        _rates(law, mean_s, min(paths, PATHS_MOST), np.random.default_rng(stream))
        for (law, mean_s), stream in zip(kinds, streams, strict=True)
    )


def _rates(law: str, mean_s: float, paths: int, rng: np.random.Generator) -> ExecutionRates:
    draws = (steady, LAWS[law])
    values = {UNTIL: np.empty((paths, 2, BLOCKS)), OURS: np.empty((paths, 2, BLOCKS))}
    numbers = np.empty(paths)
    for path in range(paths):
        number = executions_for([tried(rng, draw, mean_s) for draw in draws], ASKED)
        numbers[path] = number
        for side, draw in enumerate(draws):
            trials = until_enough(rng, draw, mean_s, BLOCKS)
            values[UNTIL][path, side] = [times_s.mean() for times_s in trials]
            fixed = mean_s * draw(rng, BLOCKS * number).reshape(BLOCKS, number)
            values[OURS][path, side] = fixed.mean(axis=1)
    return ExecutionRates(
        paths=paths,
        law=law,
        mean_s=mean_s,
        bias={way: float(own[:, 1].mean()) / mean_s - 1 for way, own in values.items()},
        false={way: _claimed(own) for way, own in values.items()},
        executions=float(numbers.mean()),
    )


def _claimed(values: FloatArray) -> float:
    """Share of comparisons that claim a difference; values of shape (paths, 2, blocks)."""
    differences = np.log(values[:, 1]) - np.log(values[:, 0])
    return float(np.mean(outcome(bounds_of("standard")(differences), 0.0, ROPE).claim != 0))


UNTIL: Final = "until 0.1 s"
OURS: Final = "a number for all"


def _told(found: tuple[ExecutionRates, ...]) -> str:
    head = (
        "executions take",
        "mean, ms",
        *(f"trials off by, {way}, %" for way in (UNTIL, OURS)),
        *(f"false claims, {way}, %" for way in (UNTIL, OURS)),
        "executions in a trial",
    )
    rows = [
        (
            own.law,
            f"{1e3 * own.mean_s:g}",
            *(percent(abs(own.bias[way])) for way in (UNTIL, OURS)),
            *(percent(own.false[way]) for way in (UNTIL, OURS)),
            f"{own.executions:.0f}",
        )
        for own in found
    ]
    return f"""
## Executions that vary

A command whose executions vary against one of the same mean that varies by {100 * STEADY_CV:g} %;
{found[0].paths:,} comparisons of each kind by the standard profile. A trial that executes *until
0.1 s* have passed has the more executions the shorter they are. *A number for all* is ours: found
in the first block, from executions that count for nothing else.

{table(head, rows)}

What is left of false claims is of two kinds. The logarithm of a mean of few executions lies below
that of the mean: by half a per cent at most where a trial may have as many as it takes; where that
is more than a second of them, commands that vary look a little faster. And a verdict is about the
typical block (the pseudo-median), which lies below the mean where few executions take much longer.
"""


def _lines(found: tuple[ExecutionRates, ...]) -> tuple[Line, ...]:
    bias = max(abs(own.bias[OURS]) for own in found)
    return (
        Line(
            "commands whose executions vary: the mean of their trials, off by",
            "0.5 %",
            f"{percent(bias)} %",
        ),
        Line(
            "commands of one mean whose executions vary: false claims",
            "–",
            span(own.false[OURS] for own in found),
        ),
        Line(
            "the same, executed until 0.1 s have passed: false claims",
            "–",
            span(own.false[UNTIL] for own in found),
            rival=True,
        ),
    )


SECTION: Final = Section("executions", execution_rates, _told, _lines)
