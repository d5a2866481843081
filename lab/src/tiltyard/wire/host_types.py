"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

from typing import Literal

from tiltyard.wire.end_types import (
    Count,
    Direct,
    Message,
    Quantity,
)

HostFailureKind = Literal["request", "lacks", "refused", "busy", "failed", "limit", "interrupted"]
"""What a failure is about."""


class HostHello(Message):
    """Who answers."""

    protocol: Count
    engine: str
    system: str
    """Of the operating system, as in `linux`."""
    machine: str
    release: str
    pid: Count
    uid: Count
    """The user as whom it reads and changes."""
    cpus: list[Count]
    """Processors that it may use, ascending."""
    boot: str
    """Changes with each boot; empty where the kernel does not tell it."""
    does: list[str]


class HostSpace(Message):
    """Space of a file system."""

    block_bytes: Count
    """As it is told who asks in which blocks to read: `f_bsize` of statvfs(3)."""
    size_bytes: Count
    available_bytes: Count


class HostOutput(Message):
    """How a command has ended, and what it has printed; what is no UTF-8 in it is replaced."""

    stdout: str
    stderr: str
    cut: bool
    argv: list[str] = []
    """As it was asked for, where several were."""
    status: int | None = None
    """`None`: it was ended by a signal, or could not be started, and its standard error says
    why."""
    signal: int | None = None
    """Number of the signal that has ended it."""


class HostDevice(Message):
    """A block device by what stays the same when names and numbers change."""

    node: str
    """The kernel's own name: `/dev/sdb`."""
    number: str
    size_bytes: Count
    model: str | None = None
    firmware: str | None = None
    serial: str | None = None
    wwn: str | None = None
    partuuid: str | None = None
    backing_file: str | None = None
    refused: str | None = None
    """Why there is none; then nothing else is told."""


class HostDirect(Message):
    """What becomes of a file that is opened for direct I/O."""

    is_refused: bool
    alignment: Direct | None = None


class HostFound(Message):
    """What was found."""

    files: dict[str, str]
    """Path → text; what is no UTF-8 in it is replaced."""
    links: dict[str, str]
    programs: dict[str, str]
    space: dict[str, HostSpace]
    outputs: list[HostOutput]
    cut: list[str]
    """What is not whole or has no room in the answer: a file or link by its path, or by its pattern
    where that means too many."""
    devices: dict[str, HostDevice] = {}
    users: dict[str, str] = {}
    """Path → who uses that block device, as a clause."""
    direct: dict[str, HostDirect] = {}


class HostSettled(Message):
    """How disks have come to rest."""

    elapsed_s: Quantity
    dirty_bytes: Count
    """Dirty or under write-back at the end."""
    waiting_share: Quantity | None = None
    """Share of the last moment in which a task waited for a disk; `None`: not looked at, or not
    told by the kernel."""


class HostSeen(Message):
    """What went on on a host between two readings of its counters."""

    elapsed_s: Quantity
    temperatures_c: dict[str, Quantity]
    clock_sources: list[str]
    """All that were in force, in order of name."""
    clock_step_s: Quantity
    """How far the time of day was set, away from a clock that nobody sets."""
    own_bytes: Count | None = None
    """Bytes of ours on the disk; without a loop device, all that is not known to be others'."""
    foreign_bytes: Count | None = None
    servers_s: Quantity | None = None
    """CPU time of the servers; `None` if there were none."""
    external_cpus: Count | None = None
    """How many CPUs the next two are of; `None`: they are not known, or not there."""
    external_s: Quantity | None = None
    """CPU time that others had of them."""
    external_steal_s: Quantity | None = None
    """Time that the hypervisor gave to others."""
    foreign_waits_s: dict[str, Quantity] | None = None
    """cpu, io, memory → the longest time that one control group of others waited for it."""
    swapped_pages: Count | None = None
    allocation_stalls: Count | None = None
    compaction_stalls: Count | None = None
    huge_page_fallbacks: Count | None = None
    throttled: Count | None = None
    """How often CPUs were slowed down for heat."""
    quota_throttled: Count | None = None
    """Periods in which a quota of CPU time was used up; `None` where no group has one."""
    quota_throttled_s: Quantity | None = None
    """How long CPUs were kept from processes for it, the sum over CPUs."""
    frequency: Quantity | None = None
    """Mean of the CPUs, over nominal."""
    kernel_errors: list[str] | None = None
    """What the kernel reported as errors, the first few; `None` where its log may not be read."""


class HostChanged(Message):
    """A change in the ledger."""

    at: Count
    """Which op of the list has made it, from 0."""
    number: Count


class HostRan(Message):
    """A command that has ended well."""

    argv: list[str]
    elapsed_s: Quantity


class HostStarted(Message):
    """A process that was started and is ready."""

    at: Count
    """Which op of the list has started it, from 0."""
    pid: Count
    """Its keeper, with everything below it; 0: it has ended."""
    line: str
    """What it has printed first, where that was the sign."""
    elapsed_s: Quantity


class HostSkipped(Message):
    """An op that has set nothing."""

    at: Count
    text: str
    """What the kernel or the command says; empty: it says nothing, and something else is in
    force."""
    now: str


class HostAged(Message):
    """A file system that was aged, and the files that were made."""

    files: Count
    directories: Count
    bytes: Count
    written_bytes: Count
    full: Quantity
    """Share of the space that was free when the file system was empty."""
    pieces: Count | None = None
    """Pieces that the files lie in, each without a gap; left out where there is no FIEMAP."""
    score: Quantity | None = None
    """Share of the blocks that follow the block before them in the file: the layout score of Smith
    and Seltzer (1997) over all files; 1 is a perfect layout."""


class HostIsolated(Message):
    """A group that others are kept off the CPUs of."""

    enter: str
    """The file to which a process writes that enters it."""
    kernel_threads: Count
    """Threads of the kernel that may still run there."""


class HostDid(Message):
    """What came of ops."""

    ledger: str
    """The name of the ledger that has the changes; empty where nothing was recorded."""
    changes: list[HostChanged]
    outputs: dict[str, str]
    """Name → what that op has yielded."""
    ran: list[HostRan]
    started: list[HostStarted]
    skipped: list[HostSkipped]
    digest: str | None = None
    """SHA-256 of what was copied last, in hex."""
    aged: HostAged | None = None
    isolated: HostIsolated | None = None


class HostUndone(Message):
    """What was taken back, one sentence each."""

    done: list[str]
    left: list[str]


class HostBeat(Message):
    """A sign of life."""


class HostHeld(Message):
    """What came of holding the machine, or of letting it go."""

    done: list[str]
    """What its last holder, which was killed, had left and was put back first, one sentence
    each."""
    run: str | None = None
    """The run for which it is held now."""


class HostServer(Message):
    """One of them."""

    pids: list[Count]
    """Its keeper and all that is below it; none where there is no keeper."""
    ended: str
    """Why nothing of it runs any more; empty as long as something does."""


class HostDone(Message):
    """What came of a request."""

    read: HostFound | None = None
    run: HostOutput | None = None
    settled: HostSettled | None = None
    watch: HostSeen | None = None
    ops: HostDid | None = None
    undone: HostUndone | None = None
    left: HostBeat | None = None
    taken_up: str | None = None
    held: HostHeld | None = None
    servers: list[HostServer] | None = None


class HostFailure(Message):
    """Why there is nothing else to say."""

    kind: HostFailureKind
    text: str
    left: list[str] = []
    """What could not be taken back, a sentence each."""


class HostProgress(Message):
    """How far ops are."""

    at: Count
    done_bytes: Count
    of_bytes: Count
    """To be written; 0: it is not known."""


class HostLine(Message):
    """A line of an agent: one of its forms."""

    hello: HostHello | None = None
    id: Count | None = None
    done: HostDone | None = None
    failed: HostFailure | None = None
    progress: HostProgress | None = None
    beat: HostBeat | None = None
