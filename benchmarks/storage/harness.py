"""Pairs in turn, medians of their ratios with the spread, and what falls short.

A machine is never quiet, and never equally busy twice: so each round does both sides one right
after the other, in random order, and only the ratio inside a round counts.
"""

import random
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WHOLE = "whole process"

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
    """

    name: str
    peer: str
    ours: Side
    theirs: Side
    needs: tuple[str, ...]
    targets: Mapping[str, float] = field(default_factory=dict)

    def rows(self, rounds: int, place: Path, rng: random.Random) -> Iterator["Row"]:
        """One row per time that both sides have; ratios above 1 mean that the engine is faster."""
        ratios: dict[str, list[float]] = {}
        for _ in range(rounds):
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
        value: gives the figure; asked once per round.
        below: the limit, in the same unit.
    """

    name: str
    what: str
    unit: str
    value: Callable[[Path], float]
    below: float
    needs: tuple[str, ...] = ()

    def rows(self, rounds: int, place: Path, rng: random.Random) -> Iterator["Row"]:  # noqa: ARG002
        """The one row."""
        values = []
        for _ in range(rounds):
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
        """Median, quartiles, extremes, target and verdict."""
        values = sorted(self.values)
        lower, middle, upper = _quartiles(values)
        spread, extremes = f"{lower:.2f}…{upper:.2f}", f"{values[0]:.2f}…{values[-1]:.2f}"
        verdict = "" if self.target == "–" else "ok" if self.ok else "short"
        columns = (self.name, self.what, self.unit, f"{middle:.2f}", spread, extremes)
        return _line((*columns, self.target, verdict))


def header() -> str:
    """The first line of the table."""
    return _line(("work", "figure", "unit", "median", "quartiles", "extremes", "target", ""))


def _line(cells: tuple[str, ...]) -> str:
    """Cells in columns."""
    widths = (32, 17, 24, 6, 11, 11, 7, 5)
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


def _quartiles(values: list[float]) -> list[float]:
    """First quartile, median and third; a single value is all three."""
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")
