"""The samples of a run as columns: a study may have a million of them.

A :class:`SampleTable` holds one row for each sample of all trials of a run; a trial has a slice of
it. What varies with the cell only (metric, unit, direction, point of the grid) is kept once for
each cell, and a row names its cell by number. Histograms and the figures of classic tools are
checked while a trial is read, and stay in its file.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, overload

import numpy as np
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tiltyard.stats.types import FloatArray, IntArray
from tiltyard.wire import Latency, Sample, Unit

PERCENTILES: Final = ("p50", "p90", "p99", "p999")
"""Percentiles of single operations that are reported, by their names on the wire."""
BIN_WIDTH: Final = 1 / 64
"""Widest bucket of the engine's histogram, as a share of the value: what a percentile of single
operations is known to."""
TIMED: Final = 100
"""Fewer operations have no percentiles worth the name."""
_LATENCY: Final = ("count", "min", "max", "mean", "p50", "p90", "p99", "p999", "p9999")
_FIRST_PERCENTILE: Final = _LATENCY.index(PERCENTILES[0])
_NS: Final = 1e-9

CellKey = tuple[str, tuple[tuple[str, int | str], ...]]
"""Name of the metric, and the point of the grid."""


Direction = Literal["higher", "lower"]
_Layout = tuple[list[str], list[dict[str, int | str]], list[Unit], list[Direction]]
"""Of the samples of a trial, what each is of."""


class Cell(NamedTuple):
    """What all samples of a cell have in common."""

    metric: str
    at: tuple[tuple[str, int | str], ...]
    unit: Unit
    direction: Direction

    @property
    def key(self) -> CellKey:
        """By which cells of several tables are the same."""
        return self.metric, self.at


class SampleTable:
    """Columns that grow while the trials of a run are read."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        """Every cell, in the order of first measurement."""
        self._numbers: dict[Cell, int] = {}
        self._layout: _Layout = ([], [], [], [])
        self._layout_cells = array("q")
        self.cell = array("q")
        self.value = array("d")
        self.elapsed_s = array("d")
        self.operations = array("Q")
        self.bytes = array("Q")
        self.timed = array("q")
        """Row of ``latency``; -1 where operations were not timed one by one."""
        self.latency = array("d")
        """Row by row the fields of :data:`_LATENCY`, in ns; nan where one is absent."""

    def add(self, samples: Iterable[Sample]) -> "Samples":
        """Append the samples of one trial."""
        rows, start = list(samples), len(self.cell)
        # Trials of a workload measure the same cells in the same order: those are numbered once.
        layout = (
            [row.metric for row in rows],
            [row.at for row in rows],
            [row.unit for row in rows],
            [row.direction for row in rows],
        )
        if layout != self._layout:
            self._layout, self._layout_cells = layout, array("q", map(self._number, *layout))
        self.cell.extend(self._layout_cells)
        self.value.extend([row.value for row in rows])
        self.elapsed_s.extend([row.elapsed_s for row in rows])
        self.operations.extend([row.operations for row in rows])
        self.bytes.extend([row.bytes for row in rows])
        timed = [row.latency_ns for row in rows]
        self.timed.extend([-1 if of is None else self._add_latency(of) for of in timed])
        return Samples(self, range(start, len(self.cell)))

    def _number(
        self, metric: str, at: dict[str, int | str], unit: Unit, direction: Direction
    ) -> int:
        """Of a cell, new or known."""
        cell = Cell(metric, tuple(at.items()), unit, direction)
        number = self._numbers.setdefault(cell, len(self.cells))
        if number == len(self.cells):
            self.cells.append(cell)
        return number

    def _add_latency(self, latency: Latency) -> int:
        fields = (getattr(latency, name) for name in _LATENCY)
        self.latency.extend(np.nan if field is None else field for field in fields)
        return len(self.latency) // len(_LATENCY) - 1


class Samples(Sequence[Sample]):
    """The samples of one trial: a slice of the rows of a table."""

    __slots__ = ("_rows", "table")

    def __init__(self, table: SampleTable, rows: range) -> None:
        self.table = table
        self._rows = rows

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "Samples":
        """Samples in a table of their own, if they are not in one."""
        return samples if isinstance(samples, Samples) else SampleTable().add(samples)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.of)

    @property
    def cells(self) -> IntArray:
        """Number of the cell of each sample in :attr:`SampleTable.cells`, shape (samples,)."""
        cells: IntArray = self._column(self.table.cell)
        return cells

    @property
    def values(self) -> FloatArray:
        """In the unit of each cell's metric, shape (samples,)."""
        values: FloatArray = self._column(self.table.value)
        return values

    @property
    def elapsed_s(self) -> FloatArray:
        """How long each was measured, shape (samples,)."""
        elapsed_s: FloatArray = self._column(self.table.elapsed_s)
        return elapsed_s

    @property
    def percentiles_s(self) -> FloatArray | None:
        """Shape (samples, percentiles), nan where too few operations tell; ``None``: nowhere."""
        timed = self._column(self.table.timed)
        if not (timed >= 0).any():
            return None
        rows = np.frombuffer(self.table.latency).reshape(-1, len(_LATENCY))[timed]
        count, last = rows[:, :1], _FIRST_PERCENTILE + len(PERCENTILES)
        told = (timed >= 0)[:, np.newaxis] & (count >= TIMED)
        return np.where(told, rows[:, _FIRST_PERCENTILE:last] * _NS, np.nan)

    def _column(self, column: "array[Any]") -> Any:
        """A copy, so that the table can grow."""
        if not self._rows:
            return np.empty(0, column.typecode)
        return np.frombuffer(column, column.typecode)[self._rows.start : self._rows.stop].copy()

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Sample, ...]: ...
    def __getitem__(self, place: int | slice) -> Sample | tuple[Sample, ...]:
        if isinstance(place, slice):
            return tuple(map(self._sample, self._rows[place]))
        return self._sample(self._rows[place])

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Samples) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _sample(self, row: int) -> Sample:
        table = self.table
        metric, at, unit, direction = table.cells[table.cell[row]]
        return Sample(
            metric=metric,
            value=table.value[row],
            unit=unit,
            direction=direction,
            operations=table.operations[row],
            bytes=table.bytes[row],
            elapsed_s=table.elapsed_s[row],
            at=dict(at),
            latency_ns=self._latency(table.timed[row]),
        )

    def _latency(self, place: int) -> Latency | None:
        if place < 0:
            return None
        begin = place * len(_LATENCY)
        fields = self.table.latency[begin : begin + len(_LATENCY)].tolist()
        whole = (
            None if ns != ns else ns if name == "mean" else int(ns)
            for name, ns in zip(_LATENCY, fields, strict=True)
        )
        by_name: dict[str, Any] = dict(zip(_LATENCY, whole, strict=True))
        return Latency(**by_name, buckets=[])
