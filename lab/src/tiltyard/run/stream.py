"""The verbatim output of one trial, kept and read back."""

import contextlib
import gzip
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from tiltyard.errors import UsageError
from tiltyard.executors.runner import LINE_BYTES, STREAM_BYTES
from tiltyard.folder import StudyFolder, create_file, partial_beside, sha256
from tiltyard.frozen import lean
from tiltyard.importers.live import readings
from tiltyard.importers.printed import TooSlowMetricError
from tiltyard.ownership import named_in_errors
from tiltyard.plan.model import Plan, PlannedWorkload, TrialKey
from tiltyard.run.journal import TrialFinished
from tiltyard.run.recomputed import first_contradiction
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import SampleTable
from tiltyard.study.load import parameter_error, read_text
from tiltyard.units import format_size
from tiltyard.wire import (
    Client,
    ClientEvent,
    ConnectionEvent,
    End,
    EndEvent,
    Event,
    Execution,
    ExecutionEvent,
    Hello,
    HelloEvent,
    IntervalEvent,
    Output,
    OutputEvent,
    Sample,
    SampleEvent,
    Step,
    WarningEvent,
    WarningNote,
    read_event,
)

_GZIP: Final = 16 + zlib.MAX_WBITS
_LEVEL: Final = 6
_LONGEST_BYTES: Final = STREAM_BYTES + LINE_BYTES


@dataclass(frozen=True)
class Stream:
    """What the engine said, as far as it got."""

    events: tuple[Event, ...]
    flaw: str | None = None
    """What is wrong with the stream itself; the events are those before it."""
    too_slow: TooSlowMetricError | None = None
    """The flaw, if it is an expression of the study and not the stream."""

    @cached_property
    def _said(self) -> Mapping[type, list[Any]]:
        """What the events of each kind but samples hold, in order."""
        said: dict[type, list[Any]] = {}
        for event in self.events:
            if type(event) is not SampleEvent:
                said.setdefault(type(event), []).append(event.data)
        return said

    @cached_property
    def samples(self) -> list[Sample]:
        """The measured values: a large grid has thousands of them."""
        return [event.data for event in self.events if type(event) is SampleEvent]

    @property
    def hello(self) -> Hello | None:
        """The effective configuration."""
        return next(iter(self._said.get(HelloEvent, ())), None)

    @property
    def end(self) -> End | None:
        """Outcome, sums and evidence."""
        return next(iter(self._said.get(EndEvent, ())), None)

    @property
    def executions(self) -> list[Execution]:
        """The measured executions of a program."""
        return self.steps("measure")

    def steps(self, step: Step) -> list[Execution]:
        """What was executed in a step of a program's work."""
        return [one for one in self._said.get(ExecutionEvent, ()) if one.step == step]

    @property
    def written_bytes(self) -> int | None:
        """What programs wrote, of all steps; ``None`` where that is not known."""
        found = [one.written_bytes for one in self._said.get(ExecutionEvent, ())]
        return None if not found or None in found else sum(filter(None, found))

    @property
    def clients(self) -> tuple[Client, ...]:
        """What each of several clients did; empty of a trial of one."""
        return tuple(e.data for e in self.events if isinstance(e, ClientEvent))

    @property
    def outputs(self) -> dict[str, Output]:
        """What programs printed, by its SHA-256."""
        return {output.sha256: output for output in self._said.get(OutputEvent, ())}

    @property
    def outcome(self) -> tuple[Literal["done", "failed"], str | None]:
        """How the trial went, and why if it is not done; told by the stream alone."""
        end = self.end
        if self.flaw is not None or end is None:
            return "failed", self.flaw or "the engine ended without its last line"
        if end.outcome == "done":
            return "done", None
        return "failed", end.failure.message if end.failure else f"the engine says {end.outcome}"

    def record(self, finished: TrialFinished, table: SampleTable) -> TrialRecord:
        """The trial as later stages read it; its samples are added to a table."""
        trial = TrialRecord(
            key=finished.key,
            slot=finished.slot,
            started=finished.started,
            elapsed_s=finished.elapsed_s,
            outcome=finished.outcome,
            reason=finished.reason,
            hello=self.hello,
            samples=table.add(self.samples),
            intervals=tuple(self._said.get(IntervalEvent, ())),
            connections=tuple(self._said.get(ConnectionEvent, ())),
            warnings=tuple(self._said.get(WarningEvent, ())),
            end=self.end,
            telemetry=finished.telemetry,
            file=finished.file,
            clients=self.clients,
            printed=tuple(dict.fromkeys(own.stdout for own in self.executions)),
            alternated=finished.alternated,
        )
        return lean(trial)


@lru_cache(maxsize=64)
def _first_event(line: bytes) -> Event:
    """What a trial was asked for, which is the same in all blocks: then it is kept once."""
    return lean(read_event(line))


def kept(said: bytes) -> bytes:
    """What is kept of an output: itself, compressed; the same output gives the same file."""
    return gzip.compress(said, _LEVEL, mtime=0)


def keep_stream(path: Path, said: bytes, *, sync: bool) -> bytes:
    """Write an output to a file that appears whole.

    Args:
        path: of the file; its directory is made.
        said: the output.
        sync: whether its bytes are on the disk afterwards; its name may not be yet.

    Returns:
        What the file holds.

    Raises:
        OSError: with the file's name; nothing is left of it.
    """
    data, partial = kept(said), partial_beside(path)
    path.parent.mkdir(exist_ok=True)
    try:
        with named_in_errors(partial), create_file(partial) as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return data


def read_stream(data: bytes, planned: PlannedWorkload | None = None) -> Stream:
    """Read a trial's file as far as it can be read; a flaw is reported, not raised.

    Args:
        data: the file.
        planned: see :func:`stream_of`.
    """
    unpacker = zlib.decompressobj(_GZIP)
    try:
        said = unpacker.decompress(data, _LONGEST_BYTES)
    except zlib.error as error:
        return Stream((), f"it is no gzip file: {error}")
    if unpacker.unconsumed_tail:
        return Stream((), f"it holds more than {format_size(_LONGEST_BYTES)}")
    if not unpacker.eof or unpacker.unused_data:
        return Stream((), "it is cut off" if not unpacker.eof else "something follows its end")
    return stream_of(said, planned)


def stream_of(said: bytes, planned: PlannedWorkload | None = None) -> Stream:
    """Read what an engine has said.

    Args:
        said: its output.
        planned: its workload; what a program printed is read as that says.
    """
    *lines, rest = said.split(b"\n")
    events: list[Event] = []
    flaw = "the engine was killed while it wrote" if rest else None
    try:
        for line in lines:
            events.append(read_event(line) if events else _first_event(line))
    except ValueError as error:
        what = f"line {len(events) + 1} of the engine's output is not an event: {error}"
        flaw = " ".join(what.split())
    stream = Stream(tuple(events), flaw)
    workload = stream.hello.workload if stream.hello else ""
    if found := first_contradiction(stream.samples, workload):
        # Each line is an event, and those before the sample are sound.
        place = [n for n, event in enumerate(events) if type(event) is SampleEvent][found[0]]
        why = f"line {place + 1} of the engine's output: {found[1]}"
        return Stream(tuple(events[:place]), why)
    if flaw:
        return stream
    return stream if planned is None else _with_readings(stream, planned)


def _with_readings(stream: Stream, planned: PlannedWorkload) -> Stream:
    """The stream with the metrics that a program printed, and without those nobody asked for."""
    wanted = planned.readings
    if wanted is None or stream.outcome[0] != "done":
        return stream
    notes: list[WarningNote] = []
    try:
        printed = readings(wanted.read, wanted.metrics, stream.executions, stream.outputs, notes)
    except TooSlowMetricError as error:
        return Stream(stream.events, str(error), error)
    except UsageError as error:
        return Stream(stream.events, str(error))
    named = {card.name for card in planned.metrics}
    samples = [SampleEvent(sample) for sample in printed]
    warned = [WarningEvent(type="warning", data=note) for note in notes]
    kept = (e for e in stream.events if not isinstance(e, SampleEvent) or e.data.metric in named)
    return Stream((*kept, *samples, *warned))


def in_study(folder: StudyFolder, plan: Plan, workload: str, error: TooSlowMetricError) -> str:
    """What is wrong with a metric, with the line of the study that the plan was made of.

    Without the line, if the study was changed since.
    """
    source = StudyFolder(folder.study_root).study
    with contextlib.suppress(UsageError):
        text = read_text(source)
        if sha256(text.encode()) == plan.study_sha256:
            place = [one.spec.name for one in plan.workloads].index(workload)
            return str(parameter_error(source, text, place, error.key, error.text))
    return str(error)


EMPTY = Stream(events=())
"""Of a trial whose system did not come up."""


def file_of(key: TrialKey) -> str:
    """Where a trial's stream is, relative to the study folder."""
    return f"trials/{key.file_name}"
