"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

from typing import Literal

from tiltyard.wire.end_types import (
    Count,
    Message,
)

HostFailureKind = Literal["request", "lacks", "failed", "limit", "interrupted"]
"""What a failure is about."""


class HostHello(Message):
    """Who answers."""

    protocol: Count
    engine: str
    system: str
    """Of the operating system, as in `linux`."""
    machine: str
    release: str
    uid: Count
    """The user as whom it reads and changes."""
    cpus: list[Count]
    """Processors that it may use, ascending."""
    boot: str
    """Changes with each boot; empty where the kernel does not tell it."""
    does: list[str]


class HostSpace(Message):
    """Space of a file system, in blocks."""

    block_bytes: Count
    blocks: Count
    free_blocks: Count
    available_blocks: Count
    """Of the free ones, those that are not kept for root."""


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


class HostDone(Message):
    """What came of a request."""

    read: HostFound | None = None
    run: HostOutput | None = None


class HostFailure(Message):
    """Why there is nothing else to say."""

    kind: HostFailureKind
    text: str


class HostBeat(Message):
    """A sign of life."""


class HostLine(Message):
    """A line of an agent: one of its forms."""

    hello: HostHello | None = None
    id: Count | None = None
    done: HostDone | None = None
    failed: HostFailure | None = None
    beat: HostBeat | None = None
