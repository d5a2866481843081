"""The verbatim output of one trial, read back."""

from dataclasses import dataclass
from typing import Literal

from tiltyard.errors import UsageError
from tiltyard.importers.live import readings
from tiltyard.plan.model import PlannedWorkload, TrialKey
from tiltyard.run.journal import TrialFinished
from tiltyard.run.recomputed import contradiction
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import SampleTable
from tiltyard.wire import (
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
    SampleEvent,
    Step,
    WarningEvent,
    WarningNote,
    read_event,
)


@dataclass(frozen=True)
class Stream:
    """What the engine said, as far as it got."""

    events: tuple[Event, ...]
    flaw: str | None = None
    """What is wrong with the stream itself; the events are those before it."""

    @property
    def hello(self) -> Hello | None:
        """The effective configuration."""
        return next((e.data for e in self.events if isinstance(e, HelloEvent)), None)

    @property
    def end(self) -> End | None:
        """Outcome, sums and evidence."""
        return next((e.data for e in self.events if isinstance(e, EndEvent)), None)

    @property
    def executions(self) -> list[Execution]:
        """The measured executions of a program."""
        return self.steps("measure")

    def steps(self, step: Step) -> list[Execution]:
        """What was executed in a step of a program's work."""
        found = (e.data for e in self.events if isinstance(e, ExecutionEvent))
        return [execution for execution in found if execution.step == step]

    @property
    def written_bytes(self) -> int | None:
        """What programs wrote, of all steps; ``None`` where that is not known."""
        found = [e.data.written_bytes for e in self.events if isinstance(e, ExecutionEvent)]
        return None if not found or None in found else sum(filter(None, found))

    @property
    def outputs(self) -> dict[str, Output]:
        """What programs printed, by its SHA-256."""
        return {e.data.sha256: e.data for e in self.events if isinstance(e, OutputEvent)}

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
        return TrialRecord(
            key=finished.key,
            slot=finished.slot,
            started=finished.started,
            elapsed_s=finished.elapsed_s,
            outcome=finished.outcome,
            reason=finished.reason,
            hello=self.hello,
            samples=table.add(e.data for e in self.events if isinstance(e, SampleEvent)),
            intervals=tuple(e.data for e in self.events if isinstance(e, IntervalEvent)),
            connections=tuple(e.data for e in self.events if isinstance(e, ConnectionEvent)),
            warnings=tuple(e.data for e in self.events if isinstance(e, WarningEvent)),
            end=self.end,
            telemetry=finished.telemetry,
            file=finished.file,
            printed=tuple(dict.fromkeys(own.stdout for own in self.executions)),
        )


def read_stream(data: bytes, planned: PlannedWorkload | None = None) -> Stream:
    """Read a trial's file as far as it can be read; a flaw is reported, not raised.

    Args:
        data: the file.
        planned: its workload; what a program printed is read as that says.
    """
    *lines, rest = data.split(b"\n")
    events: list[Event] = []
    workload = ""
    for number, line in enumerate(lines, start=1):
        try:
            event = read_event(line)
        except ValueError as error:
            flaw = f"line {number} of the engine's output is not an event: {error}"
            return Stream(tuple(events), " ".join(flaw.split()))
        if isinstance(event, HelloEvent):
            workload = event.data.workload
        if isinstance(event, SampleEvent) and (why := contradiction(event.data, workload)):
            return Stream(tuple(events), f"line {number} of the engine's output: {why}")
        events.append(event)
    stream = Stream(tuple(events), "the engine was killed while it wrote" if rest else None)
    return stream if planned is None else _with_readings(stream, planned)


def _with_readings(stream: Stream, planned: PlannedWorkload) -> Stream:
    """The stream with the metrics that a program printed, and without those nobody asked for."""
    wanted = planned.readings
    if wanted is None or stream.outcome[0] != "done":
        return stream
    notes: list[WarningNote] = []
    try:
        printed = readings(wanted.read, wanted.metrics, stream.executions, stream.outputs, notes)
    except UsageError as error:
        return Stream(stream.events, str(error))
    named = {card.name for card in planned.metrics}
    samples = [SampleEvent(type="sample", data=sample) for sample in printed]
    warned = [WarningEvent(type="warning", data=note) for note in notes]
    kept = (e for e in stream.events if not isinstance(e, SampleEvent) or e.data.metric in named)
    return Stream((*kept, *samples, *warned))


EMPTY = Stream(events=())
"""Of a trial whose system did not come up."""


def file_of(key: TrialKey) -> str:
    """Where a trial's stream is, relative to the study folder."""
    return f"trials/{key.file_name}"
