"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

from typing import Annotated, Any, Literal

from pydantic import Field

from tiltyard.wire.end_types import (
    Compact,
    Count,
    End,
    Message,
    Quantity,
)

Timing = Literal["pass", "operation"]
"""How often the clock is read."""

Call = Literal["read", "write", "sync", "create", "open", "remove", "send", "receive", "connect"]
"""A sort of call that a workload makes of the system."""

Unit = Literal["B/s", "1/s", "s", "B", "s/B", "count", "1", "instr/op", "instr"]
"""SI base units only."""

Direction = Literal["higher", "lower"]
"""Which way is better."""

WhichEnd = Literal["near", "far"]
"""An end of a path."""

Step = Literal["setup", "prepare", "warmup", "measure", "compare", "conclude", "cleanup"]
"""What a command of a program workload was executed for."""

TargetKind = Literal["directory", "far"]
"""What a workload works on; see [`crate::Target`]."""

Role = Literal["headline", "detail"]
"""Verdicts are given on headline metrics; the others are shown beside them."""


class Inject(Message):
    """A delay that is spun in front of calls of the measuring process."""

    delay_ns: int
    every: int = 1
    """Every so many calls of a thread are delayed once."""
    into: list[Call] = []


class Conditions(Message):
    """Conditions as the kernel granted them."""

    cpus: list[Count]
    """CPUs the measuring threads are pinned to, or that programs may use; empty when threads are
    not pinned."""
    awake: list[Count]
    numa: Count | None = None
    """NUMA node whose memory the measuring threads prefer, as the kernel says."""
    inject: Inject | None = None


class Hello(Message):
    """The effective configuration."""

    protocol: Count
    engine: str
    workload: str
    effective: dict[str, Any]
    """Every parameter with its resolved value."""
    hash: str
    """SHA-256 (hex) over workload name and `effective`: equal hashes mean equal work."""
    timing: Timing
    conditions: Conditions


class Progress(Message):
    """`Progress` of the wire."""

    done: Quantity
    """Share of the work that is done, 0 … 1."""
    what: str
    """What is being done now, in a few words."""


class Region(Message):
    """A timed region of a trial that is held, on the clock of its host."""

    began_ns: Count
    """First instant by CLOCK_MONOTONIC."""
    elapsed_s: Quantity
    """Seconds between the two instants of the timing formula."""
    operations: Count
    bytes: Count


class ClientRegion(Message):
    """A timed region of one client."""

    began_s: Quantity
    """Seconds from when the first client began it until this one did."""
    uncertainty_s: Quantity
    """How far that may be wrong, because clocks of two hosts were compared."""
    elapsed_s: Quantity
    operations: Count
    bytes: Count


class Client(Message):
    """What one of several clients did, and when by the clock of the lab."""

    name: str
    """Number from 1, with its host where that is another one."""
    file: str
    """Its verbatim stream, beside that of the trial."""
    sha256: str
    clock_ahead_s: Quantity
    """How far the clock of its host was ahead of the lab's at the last start."""
    regions: list[ClientRegion]


class Interval(Message):
    """`Interval` of the wire."""

    t_s: Quantity
    """End of the slice, in seconds since the timed work began."""
    operations: Count
    bytes: Count


class Native(Compact, frozen=True):
    """A classic tool's own figure."""

    value: Quantity
    unit: str
    """The tool's own unit, in its own spelling; `kB/s` is 1024 B/s in IOzone's tables."""


class Latency(Compact, frozen=True):
    """A log-linear histogram with the percentiles read from it."""

    count: Count
    """Number of recorded operations; equals the sample's `operations`."""
    min: Count
    max: Count
    mean: Quantity
    p50: Count
    p90: Count
    p99: Count
    buckets: list[tuple[Count, Count]]
    """Non-empty buckets as [lowest value in ns, count], ascending."""
    p999: Count | None = None
    """Absent below 10,000 operations: too few to say."""
    p9999: Count | None = None
    """Absent below 100,000 operations."""


class Sample(Compact, frozen=True):
    """One measured value with what it was computed from."""

    metric: str
    """Name of the metric, as `describe` lists it."""
    value: Quantity
    unit: Unit
    direction: Direction
    operations: Count
    """Operations that the value covers."""
    bytes: Count
    elapsed_s: Quantity
    """Seconds between the two instants of the timing formula."""
    at: dict[str, Count | str] = {}
    """The point of the workload's grid that the value belongs to; sizes in bytes."""
    native: Native | None = None
    latency_ns: Latency | None = None


class Connection(Message):
    """TCP_INFO of one connection at one end (tcp(7)); what the kernel does not tell is absent."""

    t_s: Quantity
    """Seconds since the timed work began."""
    flow: Count
    end: WhichEnd
    rtt_s: Quantity
    rtt_variance_s: Quantity
    cwnd_segments: Count
    mss_bytes: Count
    retransmits: Count
    """Segments sent again since the connection began."""
    rtt_min_s: Quantity | None = None
    """Smallest round-trip time that was seen."""
    delivery_rate: Quantity | None = None
    """Bytes per second that the path delivered most recently."""
    acknowledged_bytes: Count | None = None
    """Bytes that the other end has acknowledged."""


class Output(Message):
    """What a program printed on one stream, or wrote to a file that was asked for."""

    sha256: str
    """SHA-256 (hex) of all that was printed; executions name it."""
    bytes: Count
    text: str | None = None
    """What was kept, where it is UTF-8."""
    base64: str | None = None
    """What was kept in base64, where it is not."""
    truncated: bool = False
    """Whether less was kept than was printed."""


class Execution(Message):
    """One execution of a command, with all processes that it started."""

    step: Step
    number: Count
    """Number among those of its step, from 1."""
    elapsed_s: Quantity
    """Seconds from the start of the command to its end, less the start of the shell where it is a
    line for one; so are both CPU times."""
    user_s: Quantity
    system_s: Quantity
    peak_memory_bytes: Count
    """Largest resident set of one of its processes, in bytes."""
    minor_faults: Count
    major_faults: Count
    voluntary_switches: Count
    involuntary_switches: Count
    stdout: str
    """SHA-256 (hex) of what it printed on standard output, see [`Output`]."""
    stderr: str
    read_bytes: Count | None = None
    """Bytes that its processes caused to be read from devices."""
    written_bytes: Count | None = None
    """Bytes that its processes caused to be written to devices."""
    exit: int | None = None
    """Exit code; absent where a signal ended the command."""
    signal: str | None = None
    """Name of the signal that ended it: SIGSEGV."""
    padding_bytes: Count = 0
    """Bytes that were added to its environment, so that its memory lies elsewhere."""
    path_bytes: Count = 0
    """Slashes that were added to the path by which the kernel found it, to the same end."""
    files: dict[str, str] = {}
    """Files that it wrote and that were asked for: path → SHA-256 (hex), see [`Output`]."""


class WarningNote(Message):
    """`Warning` of the wire."""

    code: str
    """Stable name of this kind of warning."""
    message: str
    advice: str | None = None


class HelloEvent(Message):
    """First line: what will be done, every default resolved."""

    type: Literal["hello"]
    data: Hello


class ProgressEvent(Message):
    """How far the work is; for displays, not for analysis."""

    type: Literal["progress"]
    data: Progress


class RegionEvent(Message):
    """A timed region has ended that began at an instant set from outside; its slices follow."""

    type: Literal["region"]
    data: Region


class ClientEvent(Message):
    """One of several clients, in the stream that the lab makes of theirs; no engine sends it."""

    type: Literal["client"]
    data: Client


class IntervalEvent(Message):
    """A slice of time inside the trial."""

    type: Literal["interval"]
    data: Interval


class SampleEvent(Compact, frozen=True, tag_field="type", tag="sample"):
    """One measured value."""

    data: Sample


class ConnectionEvent(Message):
    """How the kernel sees a connection at an instant."""

    type: Literal["connection"]
    data: Connection


class OutputEvent(Message):
    """What a program printed, once for each different content."""

    type: Literal["output"]
    data: Output


class ExecutionEvent(Message):
    """One execution of a program."""

    type: Literal["execution"]
    data: Execution


class WarningEvent(Message):
    """Something the reader of the result should know."""

    type: Literal["warning"]
    data: WarningNote


class EndEvent(Message):
    """Last line: how it went, sums and evidence."""

    type: Literal["end"]
    data: End


ModelEvent = Annotated[
    HelloEvent
    | ProgressEvent
    | RegionEvent
    | ClientEvent
    | IntervalEvent
    | ConnectionEvent
    | OutputEvent
    | ExecutionEvent
    | WarningEvent
    | EndEvent,
    Field(discriminator="type"),
]
Event = ModelEvent | SampleEvent


class BackendCard(Message):
    """One way to move a record."""

    name: str
    about: str


class MetricCard(Message):
    """`MetricCard` of the wire."""

    name: str
    label: str
    """As a heading or legend shows it: `random read`."""
    unit: Unit
    direction: Direction
    role: Role
    about: str


class Card(Message):
    """A workload, as a person reads of it."""

    name: str
    target: TargetKind
    about: str
    lineage: str
    """Who made it first, and where it is described."""
    timing: str
    """The timing formula: which two instants, and what is between them."""
    description: str
    """A paragraph or more: what is executed."""
    parameters: dict[str, Any]
    """JSON Schema of the parameters object; descriptions are the help, defaults the defaults."""
    metrics: list[MetricCard]
    grid: list[str]
    """Names of the grid's dimensions, the keys of a sample's `at`, outermost first."""
    usual: dict[str, Any]
    """Parameters for a first comparison: what the defaults are too small or too large for, so that
    a trial takes a few seconds."""
    smoke: dict[str, Any]
    """A parameter set that runs in well under a second."""
    title: str = ""
    """As people read it: `TCP throughput`; empty where the name is that already."""


class CatalogueMessage(Message):
    """`Catalogue` of the wire."""

    protocol: Count
    engine: str
    backends: list[BackendCard]
    workloads: list[Card]
