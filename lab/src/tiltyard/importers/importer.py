"""What an importer is: a name, how it recognises a file, and how it reads one.

Helpers for all of them: :mod:`~tiltyard.importers.reading` (bytes → lines and numbers),
:mod:`~tiltyard.importers.json_file`, :mod:`~tiltyard.importers.quantities` (units, metrics).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.reading import NoFigureError

LARGEST_BYTES: Final = 64 * 2**20
"""Result files are read whole; a larger one, which would take minutes, is refused at once."""


@dataclass(frozen=True)
class Measured:
    """What was read of one metric at one point: values, or a summary of them.

    The same metric at the same point may be measured again in a file, where its tool repeats
    (:attr:`Importer.repeats`). All that a file repeats is of one process, or of processes one after
    the other, and counts as one value, the mean.
    """

    metric: str
    at: Mapping[str, int | str] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    """In base units, in file order."""
    blocks: tuple[int, ...] = ()
    mean: float | None = None
    sd: float | None = None
    se: float | None = None
    n: int | None = None
    percentiles: Mapping[str, float] = field(default_factory=dict)
    """In s."""
    system: str | None = None
    """Where the file itself names the systems (composite.xml, hyperfine); else ``None``."""
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """``metric``, ``system`` or a dimension of ``at`` → what else the file tells of that name: its
    package, parameters, unit. It becomes a part of the name where another one is called the same.
    """


@dataclass(frozen=True)
class ImportedWorkload:
    """One workload as a file has it."""

    name: str
    use: str
    metrics: tuple[CollectedMetric, ...]
    measured: tuple[Measured, ...]
    lineage: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    grid: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """What tells it from others of its name, as :attr:`Measured.apart` does: a version."""


@dataclass(frozen=True)
class Imported:
    """What one file holds."""

    workloads: tuple[ImportedWorkload, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    """Of the system or host, as far as the file tells them: kernel, version …"""
    system_facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The same, system → facts, where the file names its systems."""
    limits: tuple[str, ...] = ()
    """Sentences: what the tool did not keep and what that means for a verdict."""
    rows: bool = False
    """Whether each of its values counts by itself: a person says what a row of it is, or its tool
    collects runs that are files of their own."""


def detail(what: str, figure: Callable[[], Measured], limits: list[str]) -> Iterator[Measured]:
    """A figure on which no verdict rests: left out, with a sentence, where it cannot be.

    Args:
        what: its label.
        figure: reads it.
        limits: the sentence is added here.
    """
    try:
        yield figure()
    except NoFigureError as error:
        limits.append(f"{what} left out, as {error.why}.")


def single(
    use: str,
    metrics: tuple[CollectedMetric, ...],
    measured: tuple[Measured, ...],
    name: str = "",
    lineage: str = "",
    parameters: Mapping[str, str] | None = None,
    commands: tuple[str, ...] = (),
    grid: tuple[str, ...] = (),
    facts: Mapping[str, str] | None = None,
    limits: tuple[str, ...] = (),
) -> Imported:
    """What a file with one workload holds; its name is ``use`` unless another one is given."""
    told = (lineage, parameters or {}, commands, grid)
    workload = ImportedWorkload(name or use, use, metrics, measured, *told)
    return Imported((workload,), facts or {}, limits=limits)


@dataclass(frozen=True)
class Disproved:
    """A claim on the page cache that the kernel's counters contradict."""

    message: str
    fix: str
    stated: bool
    """Whether the claim was written down; else it is what the tool does by default."""


@dataclass(frozen=True)
class ForPeople:
    """What a tool prints where nobody asks it for figures that are not rounded."""

    known_by: str
    """An expression for a line of it."""
    instead: str
    """What to do: one clause, with the option that writes what is read."""


@dataclass(frozen=True)
class Importer:
    """One kind of result file."""

    name: str
    """What a person types: ``iozone``, ``fio-json``."""
    about: str
    """One line for the help: which files of which versions."""
    left_out: str
    """Which figures of its files are not taken over: one clause for the manual and the report."""
    cut_off: str
    """What becomes of a file that ends too early, between two lines: one clause for the manual."""
    recognises: Callable[[str], bool]
    """Whether a text of a file is its own: its first 64 KiB, or more of it. Never raises."""
    read: Callable[[bytes, str], Imported]
    """Bytes of a file and its name → what it holds.

    Raises:
        UsageError: one line that names file, line (or key) and what would be right.
    """
    repeats: str = ""
    """What its tool calls a repetition within a file: one clause for the manual. Empty: nothing, so
    that a value which stands there twice is of something else, and left out."""
    disowns: str = ""
    """An expression for a line by which its tool says that what it printed does not count."""
    for_people: ForPeople | None = None
    """Its output that is refused, with what is read instead."""
    metrics: tuple[CollectedMetric, ...] = ()
    """Every metric that it can yield, known without a file: what reads output live (``read =
    "NAME"``) needs. Empty where only a file says it."""
    grid: tuple[str, ...] = ()
    """Every dimension that its values may stand over."""
    timed: tuple[str, ...] = ()
    """Metrics of which percentiles over single operations may be printed."""
    bin_width: float = 0.0
    """Widest bin of the histogram that its percentiles are read from, as a share of the value; 0
    where they are read from all values."""
    last_bin_s: float = 0.0
    """From where on that histogram counts everything in its last bin: a percentile there says "at
    least", and is left out. 0 where it has no such bin."""
    disproved: Callable[[bytes, str, int], Disproved | None] | None = None
    """Output, its name, and the bytes that its processes read from devices → what it claims of
    the page cache and is not so; asked where output is read live."""
    asked: Callable[[Sequence[str], Sequence[str]], tuple[CollectedMetric, ...]] | None = None
    """Words of a command, and the text of the files that it names → ``metrics``, with the
    headlines that its output will have where these depend on it."""
