"""The door for Python: a study's findings as objects, its trials and values as tables of Arrow."""

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tiltyard.analysis.model import Findings, TrialLine
from tiltyard.app.report import findings_of
from tiltyard.exporters.parquet import arrow_table

if TYPE_CHECKING:
    from pyarrow import Table


@dataclass(frozen=True)
class LoadedStudy:
    """A study that was run, imported or printed; analysed when it is first asked for."""

    folder: Path

    @classmethod
    def at(cls, folder: str | PathLike[str]) -> Self:
        """That of a folder; nothing is read yet."""
        return cls(Path(folder))

    @cached_property
    def findings(self) -> Findings:
        """What the analysis states: verdicts, intervals, sentences.

        Raises:
            UsageError: if there is no such study, or a trial of it was changed.
        """
        return findings_of(self.folder)

    @cached_property
    def trials(self) -> "Table":
        """One row for each trial, in the order in which they were run.

        Columns: block, system, workload, repeat, started (UTC, ISO 8601), elapsed_s, outcome,
        reason, relative (value over the median of its system), foreign_share (CPU time of others,
        in cores), access. ``trials.to_pandas()`` is a data frame, where pandas is installed.
        """
        from pyarrow import Table

        names = [name for name in TrialLine.model_fields if name != "slot"]
        rows = self.findings.trials
        return Table.from_pydict({name: [getattr(row, name) for row in rows] for name in names})

    @cached_property
    def values(self) -> "Table":
        """One row for each measured value, in SI base units: what ``tiltyard export`` writes."""
        return arrow_table(self.findings)
