"""Values as one table: what collections are judged by, laid out in columns.

A row is one replicate, or one summary that a source states. What varies with the cell, the system
or the session stands once beside the rows, which have its number.

A kept number stands for all numbers that round to it: the column ``half`` says how far the truth
may lie off. What that leaves open of a mean is its ``rounding``; for the spread it counts as a
uniform law within half a unit of the last kept place (JCGM 100:2008 (GUM), F.2.2.1).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from tiltyard.analysis.axes import label_of, spoken_axes
from tiltyard.analysis.judging import FARTHEST
from tiltyard.analysis.quantity import Direction
from tiltyard.collected.model import CollectedMetric, Collection, PrintedAs, Reading
from tiltyard.stats.types import FloatArray, IntArray

FEWEST_VALUES: Final = 3
"""Of each side, for an interval. Where noise has two modes, two values of each of two equal systems
lie apart in up to one of eight comparisons, 2 (½)²(½)², however small the noise within a mode is;
three in one of 32."""
_MOST: Final = 2**31 - 1
"""Values behind a mean that a row can hold; more of them are as many."""
T = TypeVar("T")
ROW: Final = np.dtype(
    [(name, np.int32) for name in ("cell", "system", "session", "block", "unit", "n")]
    + [(name, np.float64) for name in ("value", "se", "half")]
)
"""A row of a dataset.

``cell``, ``system``: their numbers. ``session``: who shares a session or study, −1: nobody.
``block``: what pairs values of systems, −1: nothing does. ``unit``: the file or turn that made a
replicate, −1: a stated summary. ``n``: values behind it, of a replicate those that its unit
repeated, of a summary 1 where the source does not say. ``value``: in the unit of the metric.
``se``: standard error of a summary, nan where it has none. ``half``: the truth lies within so much.
"""


@dataclass(frozen=True, eq=False)
class Point:
    """One cell: one metric of a workload at one point of its grid."""

    metric: CollectedMetric
    at: Mapping[str, int | str]
    label: str
    readings: Mapping[str, Reading]
    """System → what its source states, in the order of the systems."""
    cell: int
    """Its number."""
    workload: int = 0
    """Place of its workload in the collection."""

    @property
    def topic(self) -> str:
        """What a sentence calls it."""
        return ", ".join(filter(None, (self.metric.label, self.label)))


@dataclass(frozen=True)
class Replicates:
    """Logarithms of replicates of one system, arrays of shape (n,)."""

    logs: FloatArray
    rounding: FloatArray
    """How far each can lie from there because of the digits that were not kept."""
    blocks: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    """The block of each, ascending; empty where nothing pairs them."""
    sessions: tuple[str, ...] = ()
    """The session or study of each; empty where values are not of several studies."""


@dataclass(frozen=True)
class Sample:
    """Where one system's logarithms lie, and how sure that is."""

    mean: float
    error: float | None
    """Standard error; ``None`` where too little was repeated, or no spread is known at all."""
    n: int
    rounding: float = 0.0
    """How far what was not kept of the digits can shift the mean."""
    replicates: Replicates | None = None
    """What it is of; ``None`` where only means were kept, or replicates do not line up."""
    averaged: bool = False
    """Whether a value is the mean of what its file repeats."""

    @classmethod
    def of(cls, found: Replicates, *, averaged: bool = False) -> "Sample":
        """Mean and standard error of replicates."""
        n = len(found.logs)
        error = None
        if n >= FEWEST_VALUES:
            # What was not kept of the digits: a uniform law has a third of its half-width squared.
            variance = found.logs.var(ddof=1) + (found.rounding**2).mean() / 3
            error = math.sqrt(float(variance) / n) or None
        rounding = float(found.rounding.mean())
        return cls(float(found.logs.mean()), error, n, rounding, found, averaged)


def together(found: Sequence[Sample]) -> Sample:
    """The mean over cells of which nobody knows how they vary together.

    Its error is the bound for full dependence, the mean of their errors: no correlation makes it
    larger. The smallest count is kept for the degrees of freedom.
    """
    errors = [one.error for one in found if one.error is not None]
    return Sample(
        math.fsum(one.mean for one in found) / len(found),
        math.fsum(errors) / len(found) if len(errors) == len(found) else None,
        min(one.n for one in found),
        math.fsum(one.rounding for one in found) / len(found),
        averaged=any(one.averaged for one in found),
    )


@dataclass(frozen=True, eq=False)
class CollectedQuantity:
    """One number of each system, on the log scale: of a cell, or the mean over several."""

    topic: str
    """``random write, 64 KiB record``."""
    unit: str
    """``s`` of a time; empty over several units."""
    direction: Direction
    samples: Mapping[str, Sample]
    """Of the systems that have a value in every cell."""
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, eq=False)
class Dataset:
    """The table, with what its numbers stand for."""

    rows: npt.NDArray[np.void]
    """Of :data:`ROW`, by cell and system, replicates by their blocks."""
    cells: tuple[Point, ...]
    systems: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    _sampled: dict[tuple[int, ...], dict[str, Sample]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, points: Sequence[Point], systems: Sequence[str]) -> "Dataset":
        """What points state of systems."""
        readings = [one for point in points for one in point.readings.values()]
        blocks = _codes(sorted({block for one in readings for block in one.blocks}))
        sessions = _codes(dict.fromkeys(group for one in readings for group in one.groups))
        rows = [
            _rows(point.cell, system, point.readings[name], half, blocks, sessions)
            for point in points
            for half in (half_unit(point.readings.values(), point.metric.printed),)
            for system, name in enumerate(systems)
            if name in point.readings
        ]
        table = np.concatenate(rows) if rows else np.empty(0, ROW)
        return cls(table, tuple(points), tuple(systems), tuple(sessions))

    @classmethod
    def of_collection(cls, collection: Collection) -> "Dataset":
        """All that was collected; the cells of a workload metric by metric, as they were read."""
        systems = [system.name for system in collection.systems]
        points: list[Point] = []
        for number, workload in enumerate(collection.workloads):
            found: dict[tuple[str, tuple[tuple[str, int | str], ...]], dict[str, Reading]] = {}
            for reading in workload.readings:
                place = (reading.metric, tuple(reading.at.items()))
                found.setdefault(place, {})[reading.system] = reading
            metrics = {metric.name: metric for metric in workload.metrics}
            order = {name: place for place, name in enumerate(metrics)}
            axes = {
                name: spoken_axes(dict(at) for metric, at in found if metric == name)
                for name in metrics
            }
            for name, at in sorted(found, key=lambda place: order[place[0]]):
                own = found[name, at]
                readings = {system: own[system] for system in systems if system in own}
                label = label_of(dict(at), axes[name])
                cell = len(points)
                points.append(Point(metrics[name], dict(at), label, readings, cell, number))
        return cls.of(points, systems)

    @cached_property
    def points_of(self) -> Mapping[int, Sequence[Point]]:
        """Place of a workload → its cells."""
        found: dict[int, list[Point]] = defaultdict(list)
        for point in self.cells:
            found[point.workload].append(point)
        return found

    def over(self, points: Sequence[Point], topic: str) -> CollectedQuantity:
        """Some of the cells as one quantity."""
        units = {point.metric.unit for point in points}
        return CollectedQuantity(
            topic,
            units.pop() if len(units) == 1 else "",
            direction_of(points),
            self.samples(point.cell for point in points),
            (*points,),
        )

    def samples(self, cells: Iterable[int]) -> Mapping[str, Sample]:
        """Of the systems that have a positive value in every cell, over all of them.

        Replicates line up if every cell has equally many, and of the same blocks if it has blocks.
        Then the mean over the cells is taken within each replicate, so that what the cells of a run
        share stays in the spread. Else, as where only means were kept, the errors of the cells are
        averaged, see :func:`together`.
        """
        cells = tuple(cells)
        if cells in self._sampled:
            return self._sampled[cells]
        points = [self.cells[cell] for cell in cells]
        direction = direction_of(points)
        signs = [1.0 if point.metric.direction == direction else -1.0 for point in points]
        found = {}
        for system, name in enumerate(self.systems):
            parts = [self._places(cell, system) for cell in cells]
            if all(own.stop > own.start and self._positive[own].all() for own in parts):
                found[name] = self._sample(parts, signs)
        self._sampled[cells] = found
        return found

    def _sample(self, parts: Sequence[slice], signs: Sequence[float]) -> Sample:
        averaged = any(self._averaged[own].any() for own in parts)
        lined_up = self._lined_up(parts, signs)
        if lined_up is not None:
            return Sample.of(lined_up, averaged=averaged)
        if len(parts) > 1:
            return together(
                [self._sample([one], [sign]) for one, sign in zip(parts, signs, strict=True)]
            )
        (row,) = self.rows[parts[0]]
        mean, n, error = float(row["value"]), int(row["n"]), float(row["se"])
        known = None
        if n >= FEWEST_VALUES and not math.isnan(error):
            known = min((error + float(row["half"])) / mean, FARTHEST) or None
        (log,), (rounding,) = self._logs[parts[0]], self._opened[parts[0]]
        return Sample(signs[0] * float(log), known, n, float(rounding))

    def _lined_up(self, parts: Sequence[slice], signs: Sequence[float]) -> Replicates | None:
        """Over all cells; ``None`` if they do not line up, or only means were kept."""
        blocks, first = self.rows["block"], parts[0]
        if self.rows["unit"][first.start] < 0 or any(
            not np.array_equal(blocks[own], blocks[first]) or self.rows["unit"][own.start] < 0
            for own in parts[1:]
        ):
            return None
        logs = np.array([sign * self._logs[own] for sign, own in zip(signs, parts, strict=True)])
        rounding = np.array([self._opened[own] for own in parts])
        sessions = self.rows["session"][first]
        return Replicates(
            logs.mean(axis=0),
            rounding.mean(axis=0),
            blocks[first] if blocks[first.start] >= 0 else np.empty(0, np.int64),
            tuple(self.sessions[one] for one in sessions) if sessions[0] >= 0 else (),
        )

    def _places(self, cell: int, system: int) -> slice:
        begin = cell * len(self.systems) + system
        return slice(int(self._begins[begin]), int(self._begins[begin + 1]))

    @cached_property
    def _begins(self) -> IntArray:
        """Where the rows of each system in each cell begin, and where the last ones end."""
        last = int(self.rows["cell"].max(initial=-1)) + 1
        own = self.rows["cell"].astype(np.int64) * len(self.systems) + self.rows["system"]
        return np.searchsorted(own, np.arange(max(last, len(self.cells)) * len(self.systems) + 1))

    @cached_property
    def _averaged(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.rows["unit"] >= 0) & (self.rows["n"] > 1))

    @cached_property
    def _positive(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.rows["value"] > 0)

    @cached_property
    def _logs(self) -> FloatArray:
        values = self.rows["value"]
        logs: FloatArray = np.log(values, out=np.full(len(values), np.nan), where=self._positive)
        return logs

    @cached_property
    def _opened(self) -> FloatArray:
        """How far the logarithms may lie off."""
        shares = np.divide(
            self.rows["half"], self.rows["value"],
            out=np.ones(len(self.rows)), where=self._positive,
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            opened: FloatArray = np.minimum(-np.log1p(-np.minimum(shares, 1.0)), FARTHEST)
        return opened


def direction_of(own: Sequence[Point]) -> Direction:
    """Of a mean over points: where they differ, times are turned into speeds."""
    return "lower" if all(point.metric.direction == "lower" for point in own) else "higher"


def half_unit(readings: Iterable[Reading], printed: PrintedAs | None) -> float:
    """Half a unit of the last place that was kept of the values of one cell, in their unit.

    That place is the one in which the source prints; where it keeps more digits than it prints, or
    nobody says how it prints, it is the least gap between two values of the cell, as they were
    before any were averaged. 0 if there is neither: then all values are the same, and no spread is
    known.
    """
    units = [10.0**-printed.decimals * printed.factor] if printed else []
    kept = ((*chain(*one.within),) or one.values for one in readings)
    values = np.unique([*chain(*kept)])
    if len(values) > 1:
        units.append(float(np.diff(values).min()))
    return 0.5 * min(units, default=0.0)


def standard_error(reading: Reading) -> float | None:
    """Of the mean of a reading, as it is stated or from its deviation and count."""
    if reading.se is not None:
        return reading.se
    if reading.sd is None or reading.n is None:
        return None
    return reading.sd / math.sqrt(reading.n)


def _codes(own: Iterable[T]) -> dict[T, int]:
    """Each with its number: those of a source may be of any size."""
    return {one: number for number, one in enumerate(own)}


def _rows(
    cell: int,
    system: int,
    reading: Reading,
    half: float,
    blocks: Mapping[int, int],
    sessions: Mapping[str, int],
) -> npt.NDArray[np.void]:
    """One reading: a row for each value, by its block if it has one, or one of its summary."""
    rows = np.empty(len(reading.values) or 1, ROW)
    rows["cell"], rows["system"], rows["half"] = cell, system, half
    rows["session"] = rows["block"] = rows["unit"] = -1
    if not reading.values:
        error = standard_error(reading)
        rows["value"], rows["n"] = reading.mean or 0.0, min(reading.n or 1, _MOST)
        rows["se"] = np.nan if error is None else error
        return rows
    rows["value"], rows["unit"], rows["se"] = reading.values, np.arange(len(rows)), np.nan
    rows["n"] = [*map(len, reading.within)] or 1
    if reading.groups:
        rows["session"] = [sessions[group] for group in reading.groups]
    if reading.blocks:
        rows["block"] = [blocks[block] for block in reading.blocks]
        rows = rows[np.argsort(rows["block"], kind="stable")]
    return rows
