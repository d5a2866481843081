"""Sides in turn, medians of their ratios with the spread, and what falls short.

A machine is never quiet, and never equally busy twice: so each round does all sides one right
after the other, in random order, and only the ratio inside a round counts. How many rounds there
are is a matter of time, never of what they gave.
"""

import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tiltyard.stats.permutation import lag_one

LEAST_ROUNDS = 12
"""However long they take."""
LEAST_WORTH = 6
"""Of fewer values the least and the largest are no interval of 95 %."""
MOST_ROUNDS = 1000
"""However brief they are: the interval hardly becomes narrower, and its sums stay numbers."""

WHOLE = "whole process"
CPU = "CPU time"

Times = Mapping[str, float]
"""Time in seconds by the name of what it is the time of; for a rate, of one operation."""

Side = Callable[[Path], Times]
"""Does the work once in an empty directory."""


@dataclass(frozen=True)
class Peer:
    """What the engine is set against.

    Attributes:
        name: as the table shows it.
        side: does the same work.
        targets: ratio of speeds to be reached, by the name of the time; others are shown only.
    """

    name: str
    side: Side
    targets: Mapping[str, float] = field(default_factory=dict)

    def row(self, work: str, what: str, ratios: list[float]) -> "Row":
        """The line of one time; ratios above 1 mean that the engine is faster."""
        target = self.targets.get(what)
        shown = "–" if target is None else f"≥ {target:.2f}"
        return Row(work, what, f"{self.name} = 1", ratios, shown, target or 0.0)


@dataclass(frozen=True)
class Group:
    """The engine's side and those of its peers, all of them in each round.

    Attributes:
        name: the work.
        needs: programs that must be on PATH.
        on_device: whether a block device must be under the directory.
    """

    name: str
    ours: Side
    peers: tuple[Peer, ...]
    needs: tuple[str, ...] = ()
    on_device: bool = False

    def rows(self, seconds: float, place: Path, rng: random.Random) -> Iterator["Row"]:
        """One row per peer and time of it that both sides have."""
        ratios: list[dict[str, list[float]]] = [{} for _ in self.peers]
        sides = [self.ours, *(peer.side for peer in self.peers)]
        for _ in _rounds(seconds):
            ours, *others = _in_random_order(sides, place, rng)
            for theirs, known in zip(others, ratios, strict=True):
                for what in theirs:
                    known.setdefault(what, []).append(theirs[what] / ours[what])
        for peer, known in zip(self.peers, ratios, strict=True):
            for what, values in known.items():
                yield peer.row(self.name, what, values)


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
        """One row per time that both sides have."""
        peer = Peer(self.peer, self.theirs, self.targets)
        yield from Group(self.name, self.ours, (peer,)).rows(seconds, place, rng)


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
        yield Row(self.name, self.what, self.unit, values, f"< {self.below:g}", below=self.below)


Comparison = Pair | Group | Limit


@dataclass(frozen=True)
class Row:
    """One line of the table: what of which work was set against what."""

    name: str
    what: str
    unit: str
    values: list[float]
    target: str
    least: float = 0.0
    """What the true median is to be, at least."""
    below: float = math.inf
    """What it must be less than."""

    @property
    def median(self) -> float:
        """Of the values."""
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        """Of the target: ``ok``, ``short``, or ``?`` where the interval holds it."""
        low, high = median_interval(self.values) or (-math.inf, math.inf)
        if self.target == "–":
            return ""
        if high < self.least or low >= self.below:
            return "short"
        return "ok" if low >= self.least and high < self.below else "?"

    def __str__(self) -> str:
        """Median, its interval, extremes, how many rounds, target and verdict."""
        extremes = f"{min(self.values):.2f}…{max(self.values):.2f}"
        interval = told(median_interval(self.values), 3, "…")
        figures = (f"{self.median:.3f}", interval, extremes, f"{len(self.values)}")
        return _line((self.name, self.what, self.unit, *figures, self.target, self.verdict))


def header() -> str:
    """The first line of the table."""
    figures = ("median", "95 % interval", "extremes", "rounds")
    return _line(("work", "figure", "unit", *figures, "target", ""))


def _line(cells: tuple[str, ...]) -> str:
    """Cells in columns."""
    widths = (32, 15, 23, 6, 13, 11, 6, 6, 5)
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def missing(comparison: Comparison) -> list[str]:
    """Programs that a comparison needs and PATH does not have."""
    return [program for program in comparison.needs if shutil.which(program) is None]


def _in_random_order(sides: Sequence[Side], place: Path, rng: random.Random) -> list[Times]:
    """Each side once; their times in the order of the sides."""
    times: dict[int, Times] = {}
    for index in rng.sample(range(len(sides)), k=len(sides)):
        with tempfile.TemporaryDirectory(dir=place) as directory:
            times[index] = sides[index](Path(directory))
    return [times[index] for index in range(len(sides))]


def _rounds(seconds: float) -> Iterator[int]:
    """Numbers of rounds until so much time has passed."""
    end_s = time.monotonic() + seconds
    for number in range(MOST_ROUNDS):
        if number >= LEAST_ROUNDS and time.monotonic() >= end_s:
            return
        yield number


def told(interval: tuple[float, float] | None, decimals: int, between: str = " … ") -> str:
    """An interval in words."""
    if interval is None:
        return "cannot tell"
    return between.join(f"{end:.{decimals}f}" for end in interval)


def median_interval(values: list[float]) -> tuple[float, float] | None:
    """Between which values the true median lies, with 95 % confidence.

    Order statistics of the sign test, which asks for no distribution, of as many independent values
    as these are worth: a host that is busy is so for several rounds. n values that follow each
    other with correlation r are worth n (1 − r) / (1 + r) (Bayley and Hammersley, 1946), where the
    estimate of r has its bias of (1 + 3 r) / n added (Kendall, 1954). Simulated, of 40 rounds and
    more it holds in 97 % or more of the cases up to r = 0.7, where it would in 70 % without.

    Returns:
        ``None`` where they are worth fewer than six: then they tell nothing.
    """
    count, series = len(values), np.array(values)
    lag = float(lag_one(series[np.newaxis])[0])
    lag = min(max(lag + (1 + 3 * lag) / count, 0.0), 0.99)
    worth = int(count * (1 - lag) / (1 + lag))
    if worth < LEAST_WORTH:
        return None
    tail, rank = 0.5**worth, 0
    while tail <= 0.025:
        rank += 1
        tail += math.comb(worth, rank) * 0.5**worth
    outside = max(rank - 1, 0) * count // worth
    ordered = sorted(values)
    return ordered[outside], ordered[-1 - outside]
