"""Results that were not run here, whoever collected them.

This is the one form that importers write, that ``published/`` is read into, and that the analysis
takes. Every value is in SI base units. What its author did not keep is said, not made up: a mean
without its values stays a mean, a value that is missing has no reading.
"""

from typing import Annotated, Literal

from pydantic import Field

from tiltyard.folder import sha256
from tiltyard.frozen import Frozen

FORMAT = 1

Count = Annotated[int, Field(ge=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class PrintedAs(Frozen):
    """How a source prints the values of a metric, so that they can be printed so again."""

    unit: str
    """``KB/s``, ``Mbit/s``, ``µs``."""
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """What one printed unit is worth in base units: 1024 for the ``KB/s`` of IOzone."""
    decimals: Annotated[int, Field(ge=0, le=12)]


class CollectedMetric(Frozen):
    """One quantity that a workload yields."""

    name: str
    label: str
    """As people say it: ``random write``, ``Compile``."""
    unit: str
    """SI base unit: ``B/s``, ``s``, ``1/s`` …; see :mod:`tiltyard.units`."""
    direction: Literal["higher", "lower"]
    headline: bool = True
    """Whether it is compared; other metrics are shown without verdicts."""
    printed: PrintedAs | None = None
    """``None`` where three significant digits are right."""


class Reading(Frozen):
    """What is known of one metric of one system at one point: values, or a summary of them."""

    metric: str
    system: str
    at: dict[str, int | str] = Field(default_factory=dict)
    values: tuple[Finite, ...] = ()
    """Replicates in base units, in the order in which the source has them; empty where only a
    summary was kept."""
    blocks: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """For each value the block (the round) that it belongs to, numbered from 0 or from 1; empty
    where nothing pairs them."""
    within: tuple[tuple[Finite, ...], ...] = ()
    """For each value all that its file repeats: the value is their mean. Empty where nothing is
    repeated in a file."""
    groups: tuple[str, ...] = ()
    """For each value what its block shares with others, where studies are compared: the session,
    or of pooled ones the study; empty elsewhere."""
    mean: Finite | None = None
    """As the source states it, as are the three below."""
    sd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Of the values, with n − 1."""
    se: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Standard error of the mean."""
    n: Count | None = None
    percentiles: dict[str, Finite] = Field(default_factory=dict)
    """Of single operations, by name (``p50``, ``p99``, ``p999``), in s."""


class SourceMean(Frozen):
    """A mean over all points of a workload, or an advantage in it, as the source prints it."""

    of: Literal["geometric-mean", "mean"]
    metric: str
    system: str
    against: str | None = None
    """Of an advantage the other system."""
    text: str
    """Its digits, without separators: ``3960760``; of an advantage in percent."""


class CollectedWorkload(Frozen):
    """One workload with all its readings."""

    name: str
    """Unique in a collection: ``iozone in-cache``."""
    title: str = ""
    """As people read it; empty: by its name."""
    use: str
    """The tool or workload: ``iozone``, ``netperf TCP_STREAM``."""
    about: str = ""
    lineage: str = ""
    """Version of the tool, and who made it."""
    parameters: dict[str, str] = Field(default_factory=dict)
    """As far as the source tells them."""
    commands: tuple[str, ...] = ()
    """Command lines that the source gives."""
    grid: tuple[str, ...] = ()
    """Names of the dimensions in ``at``."""
    metrics: tuple[CollectedMetric, ...]
    readings: tuple[Reading, ...]
    means: tuple[SourceMean, ...] = ()

    @property
    def display(self) -> str:
        """What people read: the title, else the name."""
        return self.title or self.name


class CollectedSystem(Frozen):
    """One system that was compared."""

    name: str
    levels: dict[str, str]
    """Factor → level."""
    facts: dict[str, str] = Field(default_factory=dict)
    commands: tuple[str, ...] = ()


class SourceFile(Frozen):
    """One file that values were read from."""

    name: str
    sha256: str
    importer: str
    """Which reader understood it."""


class SourceStudy(Frozen):
    """One of the studies that are compared with each other, or pooled."""

    name: str
    question: str
    began: str = ""
    """UTC, ISO 8601; empty where it is not known."""
    blocks: int
    sessions: int
    plan_hash: str
    seal: str = ""
    differs: tuple[str, ...] = ()
    """What of its host, settings and systems is not as in the first of the studies."""


class Origin(Frozen):
    """Where the values come from."""

    title: str
    author: str = ""
    published: str = ""
    """Date, as precisely as it is known: ``2013-12``."""
    address: str = ""
    note: str = ""
    """How the numbers came from there to here."""
    delta_decimals: Annotated[int, Field(ge=0, le=4)] = 1
    """Decimals of percentages between systems that have no interval to round them by."""
    files: tuple[SourceFile, ...] = ()
    runbook: tuple[str, ...] = ()
    """How it was done, as lines of a shell script, as far as the source tells it."""
    studies: tuple[SourceStudy, ...] = ()
    """Where the values are those of several studies, compared with each other or pooled."""
    pooled: bool = False
    """Their systems are compared within each study and over all of them; else study by study."""


class Kept(Frozen):
    """What the source kept. All that it did not limits every verdict."""

    order: bool = False
    """In which order things were executed."""
    interleaved: bool = False
    """That systems took turns."""
    cache_state: bool = False
    """That caches were in the state that is claimed."""
    limits: tuple[str, ...] = ()
    """Sentences: what else is not known, and what that means."""


class Collection(Frozen):
    """Everything that was collected to answer one question."""

    format: int = FORMAT
    question: str
    decide: str | None = None
    asks: str | None = None
    """The factor that the question is about, where the source names it."""
    origin: Origin
    kept: Kept = Kept()
    systems: tuple[CollectedSystem, ...]
    baseline: str
    workloads: tuple[CollectedWorkload, ...]
    host: dict[str, str] = Field(default_factory=dict)
    """The machine, as far as it is recorded."""
    equivalent_within: Annotated[float, Field(gt=0, lt=1)] = 0.02
    plugins: dict[str, str] = Field(default_factory=dict)
    """Packages whose readers have read the files → their versions."""

    @property
    def hash(self) -> str:
        """SHA-256 of everything in it."""
        return sha256(self.model_dump_json().encode())
