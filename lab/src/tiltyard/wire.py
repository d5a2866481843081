"""The lab's reader of the wire (``schema/wire.schema.json``, generated from the engine's types).

Only what the lab uses is declared; further fields pass through. A test holds these types against
the schema, so that a renamed field cannot go unnoticed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

PROTOCOL = 1

Unit = Literal["B/s", "1/s", "s", "s/B", "1", "instr/op", "instr"]
"""SI base units only; "1" is a share or another ratio. Guest instructions, and those per operation,
are never sent: :mod:`tiltyard.plan.path_length` makes them of what is."""


Call = Literal["read", "write", "sync", "create", "open", "remove", "send", "receive", "connect"]
"""Sorts of calls that a delay can be injected into."""


class Message(BaseModel):
    """Base of everything that comes from the engine."""

    model_config = ConfigDict(frozen=True, extra="allow")


class MetricCard(Message):
    """One metric that a workload yields."""

    name: str
    label: str
    unit: Unit
    direction: Literal["higher", "lower"]
    role: Literal["headline", "detail"]
    about: str


class Card(Message):
    """A workload as ``describe`` shows it."""

    name: str
    target: Literal["directory", "far"]
    about: str
    lineage: str
    timing: str
    description: str
    parameters: dict[str, Any]
    metrics: list[MetricCard]
    grid: list[str]
    usual: dict[str, Any]
    smoke: dict[str, Any]


class BackendCard(Message):
    """One way to move a record."""

    name: str
    about: str


class Catalogue(Message):
    """Everything that this engine can do."""

    protocol: int
    engine: str
    backends: list[BackendCard]
    workloads: list[Card]

    def workload(self, name: str) -> Card | None:
        """The workload of that name, if there is one."""
        return next((card for card in self.workloads if card.name == name), None)


class Injected(Message):
    """The delay that was injected."""

    delay_ns: int
    every: int
    into: list[Call]


class Conditions(Message):
    """Conditions of measurement as granted."""

    cpus: list[int] = []
    numa: int | None = None
    awake: list[int] = []
    inject: Injected | None = None


class Hello(Message):
    """The effective configuration."""

    protocol: int
    engine: str
    workload: str
    effective: dict[str, Any]
    hash: str
    timing: Literal["pass", "operation"]
    conditions: Conditions


class Progress(Message):
    """How far the work is."""

    done: float
    what: str


class Interval(Message):
    """A slice of time inside the trial."""

    t_s: float
    operations: int
    bytes: int


class Native(Message):
    """The classic tool's own figure."""

    value: float
    unit: str


class Latency(Message):
    """Latency of the operations behind a sample, in ns."""

    count: int
    min: int
    max: int
    mean: float
    p50: int
    p90: int
    p99: int
    p999: int | None = None
    p9999: int | None = None
    buckets: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured value.

    A trial may have thousands: a dataclass with slots takes a tenth of a model's memory.
    """

    metric: str
    value: float
    unit: Unit
    direction: Literal["higher", "lower"]
    operations: int
    bytes: int
    elapsed_s: float
    at: dict[str, int | str] = field(default_factory=dict)
    native: Native | None = None
    latency_ns: Latency | None = None


class Connection(Message):
    """How the kernel sees a TCP connection at an instant, at one end."""

    t_s: float
    flow: int
    end: Literal["near", "far"]
    rtt_s: float
    rtt_variance_s: float
    rtt_min_s: float | None = None
    cwnd_segments: int
    mss_bytes: int
    retransmits: int
    delivery_rate: float | None = None
    acknowledged_bytes: int | None = None


class WarningNote(Message):
    """Something the reader of the result should know."""

    code: str
    message: str
    advice: str | None = None


class Failure(Message):
    """Why a trial is not done."""

    kind: str
    message: str
    parameter: str | None = None


class Floor(Message):
    """What the instrument itself costs, in ns."""

    clock_ns: float
    clock_step_ns: float
    operation_ns: float


class Access(Message):
    """Cache state as declared and as found."""

    declared: Literal["in-cache", "out-of-cache", "direct", "as-found"]
    verdict: Literal["confirmed", "contradicted", "unverified"]
    reason: str
    read_bytes: int
    device_read_bytes: int | None = None
    written_bytes: int
    device_written_bytes: int | None = None
    resident: float | None = None
    delivered: float | None = None
    memory_limit_bytes: int | None = None


class Device(Message):
    """The block device under the target, as deltas."""

    name: str
    read_bytes: int
    written_bytes: int


class Pressure(Message):
    """Time in which some task waited, in seconds."""

    cpu_s: float
    io_s: float
    memory_s: float


class Usage(Message):
    """Resources used while the trial ran."""

    user_s: float
    system_s: float
    parent_s: float
    kernel_threads_s: float
    foreign_s: float
    steal_s: float | None = None
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    peak_memory_bytes: int
    device: Device | None = None
    pressure: Pressure | None = None


class Side(Message):
    """One end of the network, over all timed regions of a trial."""

    host: str = ""
    """Which host; two ends of one share its CPUs."""
    cpus: int
    busy: float
    user_s: float
    system_s: float
    sent_bytes: int
    received_bytes: int
    sends: int
    receives: int
    granted: dict[str, Any]
    counters: dict[str, int] = {}


class Network(Message):
    """What both ends of the network saw."""

    near: Side
    far: Side


class End(Message):
    """Outcome, sums and evidence."""

    outcome: Literal["done", "failed", "interrupted"]
    failure: Failure | None = None
    operations: int
    bytes: int
    elapsed_s: float
    checksum: str
    counters: dict[str, int] = {}
    floor: Floor
    access: Access | None = None
    network: Network | None = None
    usage: Usage


class HelloEvent(Message):
    """First line."""

    type: Literal["hello"]
    data: Hello


class ProgressEvent(Message):
    """For displays."""

    type: Literal["progress"]
    data: Progress


class IntervalEvent(Message):
    """For time series."""

    type: Literal["interval"]
    data: Interval


class SampleEvent(Message):
    """For analysis."""

    type: Literal["sample"]
    data: Sample


class ConnectionEvent(Message):
    """For time series of connections."""

    type: Literal["connection"]
    data: Connection


class WarningEvent(Message):
    """For people."""

    type: Literal["warning"]
    data: WarningNote


class EndEvent(Message):
    """Last line."""

    type: Literal["end"]
    data: End


class Listening(Message):
    """Where an engine that serves can be reached."""

    addresses: list[str]
    """``address:port``, an IPv6 address in brackets."""
    engine: str
    protocol: int


class ListeningLine(Message):
    """The only line of an engine that serves."""

    type: Literal["listening"]
    data: Listening


Event = Annotated[
    HelloEvent
    | ProgressEvent
    | IntervalEvent
    | SampleEvent
    | ConnectionEvent
    | WarningEvent
    | EndEvent,
    Field(discriminator="type"),
]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def read_event(line: str | bytes) -> Event:
    """One line of the engine's output.

    Raises:
        pydantic.ValidationError: if the line is not an event (a ``ValueError``).
    """
    return _EVENT.validate_json(line)


def read_events(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """All events of a stream; blank lines are passed over."""
    return (read_event(line) for line in lines if line.strip())
