"""What stands in ``published.toml``, before the tables are read."""

from typing import Annotated, Literal

from pydantic import Field

from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    Count,
    Kept,
    Origin,
    PrintedAs,
)
from tiltyard.frozen import Frozen

Unit = Literal["B", "KB", "MB", "GB", "number", "text"]
"""How a grid's dimension is printed; KB, MB and GB are powers of 1024, as benchmarks mean them."""

Text = Annotated[str, Field(min_length=1)]


class PrintedMetric(CollectedMetric):
    """A metric of which it is known how it is printed."""

    printed: PrintedAs


class PrintedWorkload(Frozen):
    """A workload without its readings: those stand in the tables."""

    name: Text
    title: str = ""
    """As people read it; by default the name."""
    use: Text
    about: str = ""
    lineage: str = ""
    parameters: dict[str, str] = Field(default_factory=dict)
    commands: tuple[str, ...] = ()
    grid: dict[str, Unit] = Field(default_factory=dict)
    """Dimension → the unit in which the tables have it."""
    metric: tuple[PrintedMetric, ...]


class AdvantageColumn(Frozen):
    """A column that says how far one system is ahead of another."""

    system: Text
    against: Text


class PrintedTable(Frozen):
    """How one CSV file is to be read.

    A value is placed by what is fixed for its table, by the leading cells of its row and by the
    heading of its column. Each of those says one of: ``workload``, ``system``, ``metric``,
    ``statistic`` (``mean``, ``sd``, ``se`` or ``n``), or a dimension of the workload's grid.
    """

    file: Text
    """Beside ``published.toml``."""
    where: Text
    """Where it is printed: ``figure 2``."""
    fixed: dict[str, str] = Field(default_factory=dict)
    """What holds for the whole table: ``{ workload = "tcp_stream", metric = "throughput" }``."""
    rows: Annotated[dict[str, str], Field(min_length=1)]
    """Headings of the leading columns, in order, and what their cells say."""
    columns: Text
    """What the headings of all other columns say."""
    n: Count | None = None
    """Values behind each mean, where the source tells it in its text."""
    means: Literal["geometric-mean"] | None = None
    """Where every number of the table is derived: means over the cells of other tables."""
    averages: tuple[str, ...] = ()
    """First cells of rows that hold arithmetic means of the rows above."""
    advantages: dict[str, AdvantageColumn] = Field(default_factory=dict)
    """Headings of columns that hold advantages, in percent."""


class PublishedFile(Frozen):
    """The whole file."""

    question: Text
    decide: str | None = None
    asks: str | None = None
    """The factor that the question is about; see ``analysis.systems.asked_factor``."""
    style: Text
    """The house style in which it is reported by default."""
    baseline: Text
    equivalent_within: Annotated[float, Field(gt=0, lt=1)] = 0.02
    origin: Origin
    kept: Kept = Kept()
    host: dict[str, str] = Field(default_factory=dict)
    system: tuple[CollectedSystem, ...]
    workload: tuple[PrintedWorkload, ...]
    table: tuple[PrintedTable, ...] = ()
