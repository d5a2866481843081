"""The cells of a collection while files are added: what is a repetition, and what contradicts.

What one file repeats is of one process, or of one sequence of processes: that shares a layout in
memory, and the host as it was just then. So it is one value, its mean, and files are repetitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

from tiltyard.collected.model import Reading
from tiltyard.errors import UsageError
from tiltyard.importers.importer import Measured
from tiltyard.units import count_of

_Place = tuple[str, str, tuple[tuple[str, int | str], ...]]


@dataclass
class _Cell:
    """One cell, so far."""

    file: str
    """The first file that holds it."""
    summary: Measured
    values: list[list[float]]
    """Of each value all that its file repeats."""
    stated: list[float | None]
    """Of each value the mean that its file states."""
    blocks: list[int]
    percentiles: bool
    seen: set[int]
    """The blocks, to be looked up."""
    last: str = ""
    """The file that was added last, unless each of its values counts by itself."""


@dataclass
class Cells:
    """All cells of one workload."""

    limits: list[str] = field(default_factory=list)
    """Sentences on what could not be kept together."""
    _cells: dict[_Place, _Cell] = field(default_factory=dict)

    def add(
        self, file: str, system: str, measured: Measured, block: int | None, *, rows: bool = False
    ) -> None:
        """Take one measurement.

        Args:
            file: where it is from.
            system: which it is of.
            measured: what was measured.
            block: the round that its file is of; ``None`` where nobody says so.
            rows: whether each of its values counts by itself; else all that the file has of the
                cell counts as one value.

        Raises:
            UsageError: if it cannot be joined with what is there.
        """
        place = (measured.metric, system, tuple(measured.at.items()))
        cell = self._cells.get(place)
        if cell and cell.values and measured.values and cell.last == file:
            cell.values[-1] += measured.values
            cell.stated[-1] = None
            self._join_percentiles(cell, measured)
            return
        own = [[one] for one in measured.values] if rows else [[*measured.values]]
        values = own if measured.values else []
        stated = [measured.mean if len(values) == 1 else None for _ in values]
        blocks = self._blocks(file, place, measured, block, len(values))
        if cell is None:
            self._cells[place] = _Cell(
                file=file,
                summary=measured,
                values=values,
                stated=stated,
                blocks=blocks,
                percentiles=bool(measured.percentiles),
                seen=set(blocks),
                last="" if rows else file,
            )
            return
        if not cell.values or not values:
            raise UsageError(
                f"{file}: {_told(place)}: a mean, as in {cell.file}; means are not repetitions: "
                "give one of the files, or give each its own system"
            )
        if bool(cell.blocks) != bool(blocks) or not cell.seen.isdisjoint(blocks):
            raise UsageError(
                f"{file}: {_told(place)}: is of a round that has a value already, from "
                f"{cell.file}; a round has one"
            )
        cell.values += values
        cell.stated += stated
        cell.blocks += blocks
        cell.seen.update(blocks)
        cell.last = "" if rows else file
        self._join_percentiles(cell, measured)

    def readings(self) -> Iterator[Reading]:
        """Everything that was added, in the order of the cells, with the means that files state."""
        for (metric, system, at), cell in self._cells.items():
            one = cell.summary
            joined = sum(map(len, cell.values)) > len(one.values)
            repeated = any(len(own) > 1 for own in cell.values)
            yield Reading(
                metric=metric,
                system=system,
                at=dict(at),
                values=tuple(
                    fmean(own) if stated is None else stated
                    for own, stated in zip(cell.values, cell.stated, strict=True)
                ),
                within=tuple(map(tuple, cell.values)) if repeated else (),
                blocks=tuple(cell.blocks),
                mean=None if joined else one.mean,
                sd=None if joined else one.sd,
                se=None if joined else one.se,
                n=None if joined else one.n,
                percentiles=dict(one.percentiles) if cell.percentiles else {},
            )

    def _join_percentiles(self, cell: _Cell, measured: Measured) -> None:
        if cell.percentiles or measured.percentiles:
            self._say("percentiles of several executions cannot be joined, and were left out.")
            cell.percentiles = False

    def _blocks(
        self, file: str, place: _Place, measured: Measured, block: int | None, values: int
    ) -> list[int]:
        if block is None:
            return list(measured.blocks)
        if measured.blocks:
            raise UsageError(f"{file}: says itself which rounds its values are of; drop --blocks")
        if values > 1:
            raise UsageError(
                f"{file}: {_told(place)}: {count_of(values, 'value')}; with "
                "--blocks a file is "
                "one round and has one value of each cell"
            )
        return [block] * values

    def _say(self, sentence: str) -> None:
        if sentence not in self.limits:
            self.limits.append(sentence)


def _told(place: _Place) -> str:
    """A cell in words, for an error."""
    metric, system, at = place
    point = ", ".join(f"{name} {level}" for name, level in at)
    return " of ".join((", ".join(filter(None, (metric, point))), system))
