"""The journal of a run: what happened, appended line by line, each synced before the next step.

Around trials of a fraction of a second that would take longer than they do. Their lines *wait*: the
kernel has them at once, so that no kill loses them, the disk at the next line that does not wait,
or after a second. If the host goes down before, what is not there is cut off and measured again.
"""

import contextlib
import math
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, TypeAdapter

from tiltyard.atomic_append import append_whole, cut_off
from tiltyard.errors import UsageError
from tiltyard.folder import (
    open_to_change,
    sync_directory,
    sync_file,
)
from tiltyard.frozen import Frozen, flaw
from tiltyard.host.changes import AnyChange
from tiltyard.host.telemetry import Telemetry
from tiltyard.ownership import named_in_errors
from tiltyard.plan.model import TrialKey
from tiltyard.run.chain import BrokenChainError, Chain
from tiltyard.run.journal_tail import before_lost, is_damaged, waits
from tiltyard.run.record import Amendment, CalibrationNote, IsolationNote, Prepared, Reason

LATEST_S: Final = 1.0
"""How long a line that may wait is not on the disk."""


class Started(Frozen):
    """The run was started, or gone on with."""

    type: Literal["started"] = "started"
    number: int
    """Counted from 1."""
    pid: int
    token: str
    """By which hosts know what is changed or kept for it."""
    tiltyard: str
    engine: str
    plan_hash: str
    boot: str
    """The boot of the host: random(4)."""
    host: dict[str, str]
    record: dict[str, dict[str, str]]
    """The system record, section by section."""
    node: str = ""
    """The host of a placement that carries it out; empty: this one."""
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
    kept: tuple[AnyChange, ...] = ()
    """What the host's agent keeps over the boot, for this start's token."""


class OtherHost(Frozen):
    """A system has come up on another host, or with its server there.

    Once a start, and after each boot of that host that it was changed in.
    """

    type: Literal["other_host"] = "other_host"
    name: str
    """As a study has it."""
    record: dict[str, dict[str, str]]


class SystemPrepared(Frozen):
    """A system was brought up for its turn."""

    type: Literal["prepared"] = "prepared"
    prepared: Prepared


class Settled(Frozen):
    """Disks before a trial."""

    elapsed_s: float
    """How long it took until earlier writes had reached them."""
    dirty_bytes: int
    """What others had not written back by then."""
    waiting_share: float | None = None
    """Share of the last moment in which a task waited for a disk; ``None``: not available."""


class TrialStarted(Frozen):
    """A trial is about to start: all that is needed to adopt it if we do not see its end."""

    type: Literal["trial_started"] = "trial_started"
    key: TrialKey
    slot: int


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
    settled: Settled | None = None
    """How the host's disks had come to rest before it."""
    telemetry: Telemetry | None = None
    written_bytes: int | None = None
    """What programs wrote in it, also before and after what is measured; ``None``: not known."""
    alternated: bool = False
    """Whether its executions took turns with those of other systems, which share its telemetry."""


class ReferenceRun(Frozen):
    """A fixed piece of work beside a block, which should always take the same time."""

    type: Literal["reference_run"] = "reference_run"
    block: int
    when: Literal["before", "after"]
    cpu_s: float | None
    """Time of a fixed amount of computing; ``None`` if it failed."""
    disk_s: float | None
    """Time of a fixed amount of writing; ``None`` where there is no directory, or if it failed."""
    host: str = ""
    """Another host that it was on; empty: this one."""


class LevelTaken(Frozen):
    """What others did before the first block, where the limits adapt to it."""

    type: Literal["level_taken"] = "level_taken"
    shares: dict[str, float]
    """Gate → share of the time."""


class ExecutionsSet(Frozen):
    """How often programs are executed in each trial, found in the first block."""

    type: Literal["executions_set"] = "executions_set"
    executions: dict[str, int]
    """Workload → number."""
    elapsed_s: float
    """Time of the executions that it was found by, and that count for nothing else."""


class Amended(Frozen):
    """A person has changed the plan after it was frozen; a run that had ended goes on."""

    type: Literal["amended"] = "amended"
    amendment: Amendment


class BlockChecked(Frozen):
    """A block is complete, and its telemetry was held against the noise limits."""

    type: Literal["block_checked"] = "block_checked"
    block: int
    reasons: tuple[Reason, ...]
    """Empty if it is not disturbed."""


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
    | ReferenceRun
    | LevelTaken
    | ExecutionsSet
    | Amended
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
    waits: bool = False
    """Whether it was synced together with later lines."""
    event: Event


_parsed = TypeAdapter(Entry).validator.validate_json
"""An entry of a text: :meth:`Entry.model_validate_json` without what that costs of each line."""

Listener = Callable[[Entry], object]


class Journal:
    """An open journal."""

    def __init__(self, path: Path, chain: Chain, file: int, listen: Listener, end: int) -> None:
        """Use :meth:`open`."""
        self._path = path
        self._chain = chain
        self._file = file
        self._end = end
        self._listen = listen
        self._began = time.monotonic()
        self._owed: list[Path] = []
        """Files that go to the disk before the next line that does not wait."""
        self._mark_synced()

    @classmethod
    def open(cls, path: Path, listen: Listener = lambda _: None) -> tuple[Self, int]:
        """Open a journal to go on with, or begin one.

        Of lines that have waited, those count whose trials are on the disk.

        Args:
            path: where it is.
            listen: is told each entry, those that are there and those that are appended.

        Returns:
            The journal, and the number of bytes that were cut off: what was not whole on the disk.

        Raises:
            UsageError: if a line cannot be read, or does not follow from those before it.
        """
        chain, whole = _follow(path, listen, before_lost(path))
        file = open_to_change(path)
        torn = os.fstat(file).st_size - whole
        if torn:
            os.ftruncate(file, whole)
            os.fsync(file)
        sync_directory(path.parent)
        return cls(path, chain, file, listen, whole), torn

    def __enter__(self) -> Self:
        """The journal itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file, with all of it on the disk.

        Raises:
            OSError: if that fails, and no other error is on its way.
        """
        try:
            if self._waiting:
                self._sync()
        except OSError:
            if kind is None:
                raise
        finally:
            os.close(self._file)

    def append(self, event: Event, *, waits: bool = False) -> Entry:
        """Write one line; on return it is on disk, with all before it.

        Args:
            event: what the line says.
            waits: it may be on disk later, with the next line that does not wait.

        Raises:
            OSError: with the file's name, if it could not be written; then nothing of it is there.
        """
        t_s = time.monotonic()
        waits = waits and t_s - self._synced_s < LATEST_S
        entry = Entry(at=now(), t_s=round(t_s - self._began, 4), waits=waits, event=event)
        line, seal = self._chain.link(entry.model_dump_json().encode())
        # A whole line may be there that was not acknowledged: the chain does not go on from it.
        end = append_whole(self._file, self._path, line + b"\n", self._end, sync=False)
        if not waits:
            self._sync()
        self._end, self._waiting = end, True
        self._chain.lengthen(seal)
        if not waits:
            self._mark_synced()
        self._listen(entry)
        return entry

    def owe(self, file: Path) -> None:
        """A new file of the run is complete: it is on disk before the next line that is."""
        self._owed.append(file)

    def _sync(self) -> None:
        """Files first: a line on the disk tells of what is there.

        Raises:
            OSError: with the name; the journal ends where it was synced last, and the files go.
        """
        try:
            for file in self._owed:
                sync_file(file)
            for directory in {file.parent for file in self._owed}:
                sync_directory(directory)
            with named_in_errors(self._path):
                os.fsync(self._file)
        except BaseException:  # Ctrl-C too
            self._end, self._chain.seal = self._synced
            cut_off(self._file, self._end)
            for file in self._owed:
                with contextlib.suppress(OSError):
                    file.unlink()
            self._mark_synced()
            raise

    def _mark_synced(self) -> None:
        """All so far is on the disk."""
        self._synced = self._end, self._chain.seal
        self._synced_s = time.monotonic()
        self._waiting = False
        self._owed.clear()


def follow_journal(path: Path, listen: Listener) -> str:
    """Read all whole lines of a journal, checking its chain.

    Args:
        path: where it is; there need not be one.
        listen: is told each entry, in order.

    Returns:
        Its seal (:mod:`tiltyard.run.chain`); empty if it has no line.

    Raises:
        UsageError: if a line cannot be read, or does not follow from those before it.
    """
    return _follow(path, listen)[0].seal


def read_journal(path: Path) -> list[Entry]:
    """All whole lines of a journal; empty if there is none.

    Raises:
        UsageError: as :func:`follow_journal`.
    """
    entries: list[Entry] = []
    follow_journal(path, entries.append)
    return entries


def now() -> str:
    """UTC to the millisecond, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _follow(path: Path, listen: Listener, until: float = math.inf) -> tuple[Chain, int]:
    """The chain, and the bytes that its lines take; lines from byte ``until`` on are left out.

    A kill or a power failure can damage only the last line, and those that wait: every other line
    was synced before the next one was begun. What is missing of a line that has its end are whole
    pages, which read as zeros. A line without its end may just be being written: what comes after
    it is not read, or the rest of the line would count as one.
    """
    chain, whole = Chain(), 0
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb"))
        except FileNotFoundError:
            return chain, whole
        for number, line in enumerate(file, start=1):
            if whole >= until or not line.endswith(b"\n"):
                break
            if is_damaged(line) and all(map(waits, file)):
                break
            try:
                entry = _parsed(chain.follow(line[:-1]))
            except ValueError as error:
                raise UsageError(_unreadable(path, number, error)) from None
            listen(entry)
            whole += len(line)
    return chain, whole


def _unreadable(path: Path, number: int, error: ValueError) -> str:
    """What is wrong with a line, and what to do."""
    where = f"{path}:{number}"
    if isinstance(error, BrokenChainError):
        return (
            f"{where}: {error}: this line, or one before it, was changed, moved or taken out. "
            "Fix: put the journal back from a copy"
        )
    return (
        f"{where}: not a line of a journal: {flaw(error)}. Fix: put the journal back from a copy; "
        f"or cut it off before that line (head -n {number - 1}), move the trials that it then "
        "lacks out of trials/, and run again: what was cut off is measured again"
    )
