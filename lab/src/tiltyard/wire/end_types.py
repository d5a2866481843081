"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from pydantic import BaseModel, ConfigDict, Field

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

Count = Annotated[int, Meta(ge=0, le=2**63 - 1), Field(ge=0, le=2**63 - 1)]
"""A number of things, as the engine counts them."""

Quantity = Annotated[float, Meta(ge=-1e24, le=1e24), Field(ge=-1e24, le=1e24)]
"""Nothing that a machine does is more, in any unit."""


class Message(BaseModel):
    """Base of everything that the engine sends; fields that it does not know pass through."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


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

    clock_ns: Quantity
    clock_step_ns: Quantity
    """Smallest non-zero step of the clock, in ns."""
    operation_ns: Quantity
    """One operation of the null backend in the same loop, in ns."""


class Direct(Message):
    """STATX_DIOALIGN, statx(2)."""

    memory_align: Count
    offset_align: Count


class Access(Message):
    """Cache state: declared, and what the counters say of it."""

    declared: AccessKind
    verdict: AccessVerdict
    reason: str
    read_bytes: Count
    """Bytes that timed reads asked for."""
    written_bytes: Count
    """Bytes that timed writes handed over."""
    device_read_bytes: Count | None = None
    """Bytes that the device delivered meanwhile, where the device has counters; through the page
    cache, to this process alone where the kernel tells."""
    device_written_bytes: Count | None = None
    """Bytes that reached the device meanwhile."""
    resident: Quantity | None = None
    """Share of a file that was resident before a read test, 0 … 1: the smallest one when the cache
    is declared, the largest out of it."""
    delivered: Quantity | None = None
    """Out of cache: the smallest share of the bytes of a read test that the device delivered, 0 …
    1."""
    memory_limit_bytes: Count | None = None
    """Out of cache: the memory that page cache and engine had together, in bytes."""
    direct: Direct | None = None


class Side(Message):
    """One end."""

    cpus: Count
    busy: Quantity
    """Share of all their time that was spent in work of any kind, 0 … 1: busy time of `/proc/stat`,
    without idle, waiting for I/O, and steal."""
    user_s: Quantity
    """CPU time of the engine itself in user mode, in seconds."""
    system_s: Quantity
    """CPU time of the engine itself in the kernel."""
    sent_bytes: Count
    received_bytes: Count
    sends: Count
    """Messages, requests or responses sent."""
    receives: Count
    """Messages, requests or responses received; of a byte stream, calls that gave data."""
    granted: dict[str, Any]
    """Options of sockets and threads as the kernel granted them, by name."""
    host: str = ""
    """Which host this is, for as long as it is up (`/proc/sys/kernel/random/boot_id`); two ends of
    one host share its CPUs."""
    counters: dict[str, Count] = {}
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
    randomize_va_space: Count | None = None
    """`/proc/sys/kernel/randomize_va_space`: 0 where the kernel puts all programs at the same
    addresses."""
    shell_s: Quantity | None = None
    """Start of an empty shell, in seconds; subtracted from each execution."""
    variation: Quantity | None = None
    """Coefficient of variation of the last executions before the measured ones, where a steady
    state was waited for."""


class Device(Message):
    """`Device` of the wire."""

    name: str
    read_bytes: Count
    written_bytes: Count


class Pressure(Message):
    """`Pressure` of the wire."""

    cpu_s: Quantity
    io_s: Quantity
    memory_s: Quantity


class Usage(Message):
    """Deltas over the trial."""

    user_s: Quantity
    """Our CPU time in user mode, spinner included."""
    system_s: Quantity
    parent_s: Quantity
    """CPU time of the process that started us (the lab and its display)."""
    voluntary_switches: Count
    involuntary_switches: Count
    minor_faults: Count
    major_faults: Count
    peak_memory_bytes: Count
    """Peak resident memory, in bytes."""
    kernel_threads_s: Quantity | None = None
    """CPU time of kernel threads: write-back, loop devices and the like."""
    foreign_s: Quantity | None = None
    """CPU time of everything else: the interference (`/proc/stat` busy time less the above)."""
    steal_s: Quantity | None = None
    """Time stolen by the hypervisor as it admits."""
    device: Device | None = None
    pressure: Pressure | None = None


class End(Message):
    """How the trial went."""

    outcome: Outcome
    operations: Count
    """Operations in timed regions: the sum over samples that count work once."""
    bytes: Count
    elapsed_s: Quantity
    """Wall time from hello to end, in seconds."""
    checksum: str
    """Checksum over the data that was read, so that no read can be elided; hex."""
    floor: Floor
    usage: Usage
    failure: Failure | None = None
    counters: dict[str, Count] = {}
    """Exact counts of the workload's own kind (PostMark: files created, read, …)."""
    access: Access | None = None
    network: Network | None = None
    programs: Programs | None = None
