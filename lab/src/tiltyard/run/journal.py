"""The journal of a run: what happened, appended line by line, each synced before the next step."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from tiltyard.errors import UsageError
from tiltyard.folder import sync_directory
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import TrialKey
from tiltyard.run.record import CalibrationNote, IsolationNote, Prepared, Reason
from tiltyard.study.model import Frozen


class Started(Frozen):
    """The run was started, or gone on with."""

    type: Literal["started"] = "started"
    number: int
    """Counted from 1."""
    pid: int
    tiltyard: str
    engine: str
    plan_hash: str
    host: dict[str, str]
    record: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The system record, section by section; empty in older journals."""
    recovered: tuple[str, ...]
    """What had to be put back after an earlier start."""
    calibration: CalibrationNote | None = None


class Isolated(Frozen):
    """Others were to be kept off the CPUs that measure."""

    type: Literal["isolated"] = "isolated"
    note: IsolationNote


class BootAsked(Frozen):
    """The host is to be booted for a turn; this start of the run ends here."""

    type: Literal["boot_asked"] = "boot_asked"
    block: int
    system: str
    boot: str
    """The boot in which it was asked for: random(4)."""
    command: str


class OtherHost(Frozen):
    """A system has come up on another host, or with its far end there: once a start."""

    type: Literal["other_host"] = "other_host"
    name: str
    """As ssh knows it."""
    record: dict[str, dict[str, str]]


class SystemPrepared(Frozen):
    """A system was brought up for its turn."""

    type: Literal["prepared"] = "prepared"
    prepared: Prepared


class TrialStarted(Frozen):
    """A trial is about to start: all that is needed to adopt it if we do not see its end."""

    type: Literal["trial_started"] = "trial_started"
    key: TrialKey
    slot: int
    settled_s: float
    """How long it took until earlier writes had reached the disk."""
    dirty_bytes: int
    """What others had not written back by then."""
    waiting_share: float | None = None
    """Share of the last moment in which a task waited for a disk; ``None``: not available."""


class TrialFinished(Frozen):
    """A trial is on disk."""

    type: Literal["trial_finished"] = "trial_finished"
    key: TrialKey
    slot: int
    started: str
    elapsed_s: float
    outcome: Literal["done", "failed"]
    reason: str | None
    file: str
    """Relative to the study folder; empty if the trial never got as far as a stream."""
    sha256: str
    telemetry: Telemetry | None = None


class CanaryRun(Frozen):
    """A fixed piece of work beside a block, which should always take the same time."""

    type: Literal["canary_run"] = "canary_run"
    block: int
    when: Literal["before", "after"]
    cpu_s: float | None
    """Time of a fixed amount of computing; ``None`` if it failed."""
    disk_s: float | None
    """Time of a fixed amount of writing; ``None`` where there is no directory, or if it failed."""


class BlockChecked(Frozen):
    """A block is complete, and its telemetry was held against the gates."""

    type: Literal["block_checked"] = "block_checked"
    block: int
    reasons: tuple[Reason, ...]
    """Empty where nothing spoiled it."""


class Looked(Frozen):
    """The data were looked at."""

    type: Literal["looked"] = "looked"
    blocks: int
    """Blocks that count: complete, and not replaced."""
    done: bool
    reason: str
    going_on: tuple[tuple[str, str], ...] | None = None
    """(system, workload) that later blocks still run; ``None``: all."""


class Stopped(Frozen):
    """The run has ended for good."""

    type: Literal["stopped"] = "stopped"
    reason: str


class Interrupted(Frozen):
    """The run was interrupted and can be gone on with."""

    type: Literal["interrupted"] = "interrupted"
    by: str


Event = Annotated[
    Started
    | BootAsked
    | Isolated
    | OtherHost
    | SystemPrepared
    | TrialStarted
    | TrialFinished
    | CanaryRun
    | BlockChecked
    | Looked
    | Stopped
    | Interrupted,
    Field(discriminator="type"),
]


class Entry(Frozen):
    """One line."""

    at: str
    """UTC, ISO 8601."""
    t_s: float
    """Monotonic seconds since this start of the run."""
    event: Event


class Journal:
    """An open journal, with everything that it says so far."""

    def __init__(self, path: Path, entries: Sequence[Entry], file: int) -> None:
        """Use :meth:`open`."""
        self.entries = list(entries)
        self._path = path
        self._file = file
        self._began = time.monotonic()

    @classmethod
    def open(cls, path: Path) -> tuple[Self, int]:
        """Open a journal to go on with, or begin one.

        Returns:
            The journal, and the number of bytes of a torn last line that were cut off.

        Raises:
            UsageError: if a line before the last cannot be read.
        """
        entries, whole = _read(path)
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        torn = os.fstat(file).st_size - whole
        if torn:
            os.ftruncate(file, whole)
            os.fsync(file)
        sync_directory(path.parent)
        return cls(path, entries, file), torn

    def __enter__(self) -> Self:
        """The journal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        os.close(self._file)

    def append(self, event: Event) -> Entry:
        """Write one line; on return it is on disk."""
        entry = Entry(at=now(), t_s=round(time.monotonic() - self._began, 4), event=event)
        os.write(self._file, entry.model_dump_json().encode() + b"\n")
        os.fsync(self._file)
        self.entries.append(entry)
        return entry


def read_journal(path: Path) -> list[Entry]:
    """All whole lines of a journal; empty if there is none.

    Raises:
        UsageError: if a line before the last cannot be read.
    """
    return _read(path)[0]


def now() -> str:
    """UTC to the millisecond, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _read(path: Path) -> tuple[list[Entry], int]:
    """Whole entries, and the bytes that they take.

    A process that is killed while it writes, or a power failure, can damage only the last line:
    every line before it was synced before the next one was begun.
    """
    data = path.read_bytes() if path.exists() else b""
    lines = data.splitlines(keepends=True)
    entries: list[Entry] = []
    whole = 0
    for number, line in enumerate(lines, start=1):
        try:
            if not line.endswith(b"\n"):
                break
            entries.append(Entry.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                break
            what = error.errors()[0]["msg"]
            raise UsageError(f"{path}:{number}: not a line of a journal: {what}") from None
        whole += len(line)
    return entries, whole
