"""Every value as one row: the tidy table that spreadsheets, data files and exporters share."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings

Field: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Value:
    """One measured value; or, where a source kept no values, the mean that it states."""

    workload: str
    cell: Cell
    system: str
    block: int | None
    """``None`` for a mean, and where nobody says which values belong together."""
    value: float
    """In the base unit of the metric."""
    sd: float | None = None
    """Of a mean: standard deviation, standard error and count, as far as its source tells them."""
    se: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class ValueTable:
    """All values of a study under the same heads, whatever its workloads have for dimensions."""

    values: tuple[Value, ...]

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions of all grids, in the order in which they come."""
        return tuple(dict.fromkeys(name for value in self.values for name in value.cell.at))

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the columns."""
        return (
            *("workload", "metric", "unit", "direction"),
            *(f"at_{name}" for name in self.dimensions),
            *("system", "block", "value", "sd", "se", "n"),
        )

    def rows(self) -> Iterator[tuple[Field, ...]]:
        """One row a value; ``None`` where a column does not apply."""
        dimensions = self.dimensions
        for value in self.values:
            cell = value.cell
            yield (
                *(value.workload, cell.metric, cell.unit, cell.direction),
                *(cell.at.get(name) for name in dimensions),
                *(value.system, value.block, value.value, value.sd, value.se, value.n),
            )


def value_table(findings: Findings) -> ValueTable:
    """All values of a study, workload by workload, cell by cell, system by system."""
    values = (value for workload in findings.workloads for value in _of_workload(workload))
    return ValueTable(tuple(values))


def cells_of(workload: WorkloadFindings) -> tuple[Cell, ...]:
    """Everything that was measured of a workload: headline, latencies, details."""
    latencies = workload.latencies.cells if workload.latencies else ()
    return (*workload.cells, *latencies, *workload.details)


def _of_workload(workload: WorkloadFindings) -> Iterator[Value]:
    for cell in cells_of(workload):
        for summary in cell.summaries:
            yield from _of_summary(workload.name, cell, summary)


def _of_summary(workload: str, cell: Cell, summary: Summary) -> Iterator[Value]:
    if not summary.values:
        known = (summary.mean, summary.sd, summary.se, summary.n)
        yield Value(workload, cell, summary.system, None, *known)
    blocks = summary.blocks or (None,) * len(summary.values)
    for block, value in zip(blocks, summary.values, strict=True):
        yield Value(workload, cell, summary.system, block, value)
