"""Pairs in turn, medians of their ratios with the spread, and what falls short.

A machine is never quiet, and never equally busy twice: so each round does both sides one right
after the other, in random order, and only the ratio inside a round counts. How many rounds there
are is a matter of time, never of what they gave.
"""

import itertools
import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LEAST_ROUNDS = 7
"""However long they take."""

WHOLE = "whole process"
CPU = "CPU time"

Times = Mapping[str, float]
"""Time in seconds by the name of what it is the time of; for a rate, of one operation."""

Side = Callable[[Path], Times]
"""Does the work once in an empty directory."""


@dataclass(frozen=True)
class Pair:
    """The engine's side and a peer's side of the same work.

    Attributes:
        name: the work.
        peer: what the engine is set against.
        needs: programs that must be on PATH.
        targets: ratio of speeds to be reached, by the name of the time; others are shown only.
        on_device: whether a block device must be under the directory.
    """

    name: str
    peer: str
    ours: Side
    theirs: Side
    needs: tuple[str, ...]
    targets: Mapping[str, float] = field(default_factory=dict)
    on_device: bool = False

    def rows(self, seconds: float, place: Path, rng: random.Random) -> Iterator["Row"]:
        """One row per time that both sides have; ratios above 1 mean that the engine is faster."""
        ratios: dict[str, list[float]] = {}
        for _ in _rounds(seconds):
            ours, theirs = _in_random_order(self.ours, self.theirs, place, rng)
            for what in theirs:
                ratios.setdefault(what, []).append(theirs[what] / ours[what])
        for what, values in ratios.items():
            target = self.targets.get(what)
            ok = target is None or statistics.median(values) >= target
            shown = "–" if target is None else f"≥ {target:.2f}"
            yield Row(self.name, what, f"{self.peer} = 1", values, shown, ok)


@dataclass(frozen=True)
class Limit:
    """A figure of the engine alone that must stay below a limit.

    Attributes:
        name: the work.
        what: the figure.
        unit: its unit.
        value: gives the figure; asked once per round, of which there are the fewest.
        below: the limit, in the same unit.
    """

    name: str
    what: str
    unit: str
    value: Callable[[Path], float]
    below: float
    needs: tuple[str, ...] = ()
    on_device: bool = False

    def rows(self, seconds: float, place: Path, rng: random.Random) -> Iterator["Row"]:  # noqa: ARG002
        """The one row."""
        values = []
        for _ in range(LEAST_ROUNDS):
            with tempfile.TemporaryDirectory(dir=place) as directory:
                values.append(self.value(Path(directory)))
        ok = statistics.median(values) < self.below
        yield Row(self.name, self.what, self.unit, values, f"< {self.below:g}", ok)


Comparison = Pair | Limit


@dataclass(frozen=True)
class Row:
    """One line of the table: what of which work was set against what."""

    name: str
    what: str
    unit: str
    values: list[float]
    target: str
    ok: bool

    @property
    def median(self) -> float:
        """Of the values."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        """Median, its interval, extremes, how many rounds, target and verdict."""
        low, high = median_interval(self.values)
        interval = f"{low:.3f}…{high:.3f}"
        extremes = f"{min(self.values):.2f}…{max(self.values):.2f}"
        verdict = "" if self.target == "–" else "ok" if self.ok else "short"
        figures = (f"{self.median:.3f}", interval, extremes, f"{len(self.values)}")
        return _line((self.name, self.what, self.unit, *figures, self.target, verdict))


def header() -> str:
    """The first line of the table."""
    figures = ("median", "95 % interval", "extremes", "rounds")
    return _line(("work", "figure", "unit", *figures, "target", ""))


def _line(cells: tuple[str, ...]) -> str:
    """Cells in columns."""
    widths = (32, 13, 23, 6, 13, 11, 6, 6, 5)
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def missing(comparison: Comparison) -> list[str]:
    """Programs that a comparison needs and PATH does not have."""
    return [program for program in comparison.needs if shutil.which(program) is None]


def _in_random_order(ours: Side, theirs: Side, place: Path, rng: random.Random) -> list[Times]:
    """Both sides once; the times of ours come first."""
    sides = [ours, theirs]
    times: dict[int, Times] = {}
    for index in rng.sample((0, 1), k=2):
        with tempfile.TemporaryDirectory(dir=place) as directory:
            times[index] = sides[index](Path(directory))
    return [times[0], times[1]]


def _rounds(seconds: float) -> Iterator[int]:
    """Numbers of rounds until so much time has passed."""
    end_s = time.monotonic() + seconds
    for number in itertools.count():
        if number >= LEAST_ROUNDS and time.monotonic() >= end_s:
            return
        yield number


def median_interval(values: list[float]) -> tuple[float, float]:
    """Between which values the true median lies, with 95 % confidence at least.

    Order statistics of the sign test, which asks for no distribution. Fewer than six values are
    too few for that: then it is all that there is.
    """
    ordered = sorted(values)
    tail, rank = 0.5 ** len(ordered), 0
    while tail <= 0.025:
        rank += 1
        tail += math.comb(len(ordered), rank) * 0.5 ** len(ordered)
    outside = max(rank - 1, 0)
    return ordered[outside], ordered[-1 - outside]
