"""A system that never changes, watched over a hundred runs: who reports a change all the same.

A series is what a detector of changes sees. The same runs taken two by two, in random order, are
the blocks of a comparison of equal systems.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.change_points import MAX_P, WINDOW, change_points
from simulation.designs import DESIGNS, STANDARD, outcome
from simulation.imports import draws
from simulation.scenarios import paired
from simulation.section import Line, Section, percent, span, table
from tiltyard.stats.types import FloatArray

RUNS: Final = 100
FIRST: Final = 10
"""The run at which one begins to look, if one looks after every run."""
WATCHED: Final = (STANDARD, DESIGNS[-1])
"""Ours: by rank at the looks of a plan, and after every block."""
DEPENDENT: Final = "autocorrelation 0.5"
_LAWS: Final = ("normal", "bimodal", "stalls", "heavy")


@dataclass(frozen=True)
class WatchedRates:
    """One law of the runs; shares of series or of comparisons."""

    law: str
    series: int
    once: float
    """Any change reported, looked at when all runs are there."""
    each: float
    """Any change reported, looked at after every run; of a fourth as many series."""
    ours: dict[str, float]
    """Design → a difference was claimed at any of its looks."""


def watched_rates(series: int, seed: int) -> tuple[WatchedRates, ...]:
    """False alarms under each law of the runs.

    Args:
        series: how many of each law; a fourth of that where each run is looked at.
        seed: the same seed gives the same rates.
    """
    laws = [*(law for law in draws() if law.startswith(_LAWS)), DEPENDENT]
    streams = np.random.SeedSequence(seed).spawn(len(laws))
    return tuple(
        _of_law(law, series, np.random.default_rng(stream))
        for law, stream in zip(laws, streams, strict=True)
    )


def runs_of(law: str, rng: np.random.Generator, series: int) -> FloatArray:
    """Log values of shape (series, runs)."""
    if law == DEPENDENT:
        return dependent(rng, (series, RUNS))
    return draws()[law](rng, (series, RUNS))


def dependent(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """AR(1) with a deviation of 3 % and a memory of 0.5, stationary from the first run on."""
    memory, noise = 0.5, rng.normal(0, 0.03, shape)
    for run in range(1, shape[1]):
        noise[:, run] = memory * noise[:, run - 1] + np.sqrt(1 - memory**2) * noise[:, run]
    return noise


def _of_law(law: str, series: int, rng: np.random.Generator) -> WatchedRates:
    slots = runs_of(law, rng, series)
    values = np.exp(slots)
    differences = paired(slots, rng)
    return WatchedRates(
        law=law,
        series=series,
        once=float(np.mean([bool(change_points(value)) for value in values])),
        each=float(np.mean([_any_alarm(value) for value in values[: max(1, series // 4)]])),
        ours={
            design.name: float(np.mean(outcome(design.bounds(differences), 0, 0).claim != 0))
            for design in WATCHED
        },
    )


def _any_alarm(values: FloatArray) -> bool:
    """Whether a change is reported by any run."""
    return any(change_points(values[:runs]) for runs in range(FIRST, RUNS + 1))


def _simulate(paths: int, seed: int) -> tuple[WatchedRates, ...]:
    """A series takes as long as a study: there are fewer of them than of paths."""
    return watched_rates(max(1, paths // 10), seed)


def _lines(found: tuple[WatchedRates, ...]) -> list[Line]:
    shown = {
        "looked at once": [one.once for one in found],
        "looked at after every run": [one.each for one in found],
    }
    return [
        *(
            Line(f"*{name}*: runs of equal systems in blocks, at all of its looks", "5 %",
                 span(one.ours[name] for one in found))
            for name in found[0].ours
        ),
        *(
            Line(f"Apache Otava, {RUNS} runs of one system that never changes, {how}: a change "
                 "is reported", "–", span(shares), rival=True)
            for how, shares in shown.items()
        ),
    ]  # fmt: skip


def _told(found: tuple[WatchedRates, ...]) -> str:
    head = ("runs", "Apache Otava, once", "Apache Otava, after every run",
            *(f"{name}, in blocks" for name in found[0].ours))  # fmt: skip
    rows = [
        (one.law, percent(one.once), percent(one.each), *map(percent, one.ours.values()))
        for one in found
    ]
    return f"""
## Watching one system

{RUNS} runs of one system that never changes. Apache Otava looks for changes in such a series,
with its defaults (windows of {WINDOW} runs, p < {MAX_P:g}, any magnitude); beside it two designs
of ours, to which the same runs, two by two in random order, are two equal systems. Share of
{found[0].series} series of each law in which a change is reported, %; of a fourth as many where
one looks after every run, from the {FIRST}th on:

{table(head, rows)}

A detector answers another question, when something has changed, and its p-value is one of a place
that was chosen for being the most divergent. It takes runs for independent, which those of one
host rarely are, and each run that is added is another chance to be alarmed. Differences within
blocks know neither trouble: what lasts longer than a block cancels, and the looks share one level.
"""


SECTION: Final = Section("watching", _simulate, _told, _lines)
