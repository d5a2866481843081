"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

from typing import Any, Literal

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

Outcome = Literal["done", "failed", "interrupted"]

FailureKind = Literal[
    "bad_job",
    "host_lacks",
    "refused",
    "no_space",
    "io",
    "far",
    "program",
    "verification",
    "access",
    "interrupted",
    "internal",
]
"""Kinds of failure, each with its exit code (see `docs/reference/exit-codes.md`)."""

AccessKind = Literal["in-cache", "out-of-cache", "direct", "as-found"]

AccessVerdict = Literal["confirmed", "contradicted", "unverified"]

HeldBy = Literal["cgroup2", "cgroup1", "subreaper"]
"""What holds a program together with all that it starts."""


class Message(BaseModel):
    """Base of everything that the engine sends; fields that it does not know pass through."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Compact(Struct, frozen=True, gc=False, omit_defaults=True):
    """Base of what a trial may have thousands of: a tenth of the memory and the time of a model.

    Without cycles, so that the garbage collector need not know them.
    """


class Failure(Message):
    """`Failure` of the wire."""

    kind: FailureKind
    message: str
    """One clear sentence: what, where, and what would be right."""
    parameter: str | None = None
    """The parameter at fault, where there is one."""


class Floor(Message):
    """The cost of the instrument, measured before the trial."""

    clock_ns: float
    clock_step_ns: float
    """Smallest non-zero step of the clock, in ns."""
    operation_ns: float
    """One operation of the null backend in the same loop, in ns."""


class Direct(Message):
    """STATX_DIOALIGN, statx(2)."""

    memory_align: int
    offset_align: int


class Access(Message):
    """Cache state: declared, and what the counters say of it."""

    declared: AccessKind
    verdict: AccessVerdict
    reason: str
    read_bytes: int
    """Bytes that timed reads asked for."""
    written_bytes: int
    """Bytes that timed writes handed over."""
    device_read_bytes: int | None = None
    """Bytes that the device delivered meanwhile, where the device has counters; through the page
    cache, to this process alone where the kernel tells."""
    device_written_bytes: int | None = None
    """Bytes that reached the device meanwhile."""
    resident: float | None = None
    """Share of a file that was resident before a read test, 0 … 1: the smallest one when the cache
    is declared, the largest out of it."""
    delivered: float | None = None
    """Out of cache: the smallest share of the bytes of a read test that the device delivered, 0 …
    1."""
    memory_limit_bytes: int | None = None
    """Out of cache: the memory that page cache and engine had together, in bytes."""
    direct: Direct | None = None


class Side(Message):
    """One end."""

    cpus: int
    busy: float
    """Share of all their time that was spent in work of any kind, 0 … 1: busy time of `/proc/stat`,
    without idle, waiting for I/O, and steal."""
    user_s: float
    """CPU time of the engine itself in user mode, in seconds."""
    system_s: float
    """CPU time of the engine itself in the kernel."""
    sent_bytes: int
    received_bytes: int
    sends: int
    """Messages, requests or responses sent."""
    receives: int
    """Messages, requests or responses received; of a byte stream, calls that gave data."""
    granted: dict[str, Any]
    """Options of sockets and threads as the kernel granted them, by name."""
    host: str = ""
    """Which host this is, for as long as it is up (`/proc/sys/kernel/random/boot_id`); two ends of
    one host share its CPUs."""
    counters: dict[str, int] = {}
    """What the kernel counted meanwhile in this network namespace: `UdpRcvbufErrors`,
    `TcpRetransSegs` … (`/proc/net/snmp`, `/proc/net/netstat`), and `SoftnetDropped`
    (`/proc/net/softnet_stat`)."""


class Network(Message):
    """Both ends, over all timed regions of the trial."""

    near: Side
    far: Side


class Programs(Message):
    """How the programs of a trial were started and held."""

    held_by: HeldBy
    environment: dict[str, str]
    """Their environment, without the padding."""
    randomize_va_space: int | None = None
    """`/proc/sys/kernel/randomize_va_space`: 0 where the kernel puts all programs at the same
    addresses."""
    shell_s: float | None = None
    """Start of an empty shell, in seconds; subtracted from each execution."""
    variation: float | None = None
    """Coefficient of variation of the last executions before the measured ones, where a steady
    state was waited for."""


class Device(Message):
    """`Device` of the wire."""

    name: str
    read_bytes: int
    written_bytes: int


class Pressure(Message):
    """`Pressure` of the wire."""

    cpu_s: float
    io_s: float
    memory_s: float


class Usage(Message):
    """Deltas over the trial."""

    user_s: float
    """Our CPU time in user mode, spinner included."""
    system_s: float
    parent_s: float
    """CPU time of the process that started us (the lab and its display)."""
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    peak_memory_bytes: int
    """Peak resident memory, in bytes."""
    kernel_threads_s: float | None = None
    """CPU time of kernel threads: write-back, loop devices and the like."""
    foreign_s: float | None = None
    """CPU time of everything else: the interference (`/proc/stat` busy time less the above)."""
    steal_s: float | None = None
    """Time stolen by the hypervisor as it admits."""
    device: Device | None = None
    pressure: Pressure | None = None


class End(Message):
    """How the trial went."""

    outcome: Outcome
    operations: int
    """Operations in timed regions: the sum over samples that count work once."""
    bytes: int
    elapsed_s: float
    """Wall time from hello to end, in seconds."""
    checksum: str
    """Checksum over the data that was read, so that no read can be elided; hex."""
    floor: Floor
    usage: Usage
    failure: Failure | None = None
    counters: dict[str, int] = {}
    """Exact counts of the workload's own kind (PostMark: files created, read, …)."""
    access: Access | None = None
    network: Network | None = None
    programs: Programs | None = None
