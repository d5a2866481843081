"""Made-up studies laid into folders, as a run would leave them: what the command line reads."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import Plan
from tiltyard.plan.sessions import session_plan
from tiltyard.run.chain import Chain
from tiltyard.run.journal import (
    BlockChecked,
    Entry,
    Event,
    Looked,
    Started,
    Stopped,
    SystemPrepared,
    TrialFinished,
)
from tiltyard.run.progress import progress_of
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.sessions import Recorded
from tiltyard.run.stream import file_of, kept
from tiltyard.wire import (
    ConnectionEvent,
    EndEvent,
    HelloEvent,
    IntervalEvent,
    Sample,
    SampleEvent,
)

_AT = "2026-11-20T10:00:00.000+00:00"


def laid(root: Path, plan: Plan, run: RunRecord) -> Path:
    """The folder of a study of one session; see :func:`laid_sessions`."""
    return laid_sessions(root, [Recorded(plan, run)])


def laid_sessions(root: Path, groups: Sequence[Recorded]) -> Path:
    """The folder of a study: plans, journals, and a file for each trial.

    A sample gets the amounts that its value is made of, as an engine would have sent them.

    Args:
        root: to be made.
        groups: its sessions, the first one first.
    """
    text = f'question = "{groups[0].plan.question}"\n'.encode()
    first = groups[0].plan.model_copy(update={"study_sha256": sha256(text)})
    for group in groups:
        folder = StudyFolder(root).session(group.number)
        folder.trials.mkdir(parents=True)
        folder.study.write_bytes(text)
        plan = first if group.number == 1 else session_plan(first, group.number)
        folder.plan.write_bytes(plan.document())
        files = [_kept(trial) for trial in group.run.trials]
        for trial, data in zip(group.run.trials, files, strict=True):
            (folder.root / file_of(trial.key)).write_bytes(data)
        folder.journal.write_bytes(b"".join(_journal(plan, group.run, files)))
    return root


def _journal(plan: Plan, run: RunRecord, files: Sequence[bytes]) -> Iterator[bytes]:
    chain = Chain()
    for event in _events(plan, run, files):
        last = isinstance(event, Stopped)
        entry = Entry(at=(last and run.ended) or run.began or _AT, t_s=0.0, event=event)
        line, seal = chain.link(entry.model_dump_json().encode())
        chain.lengthen(seal)
        yield line + b"\n"


def _events(plan: Plan, run: RunRecord, files: Sequence[bytes]) -> Iterator[Event]:
    """All that a run tells its journal which the analysis reads."""
    for number in range(1, run.starts + 1):
        yield Started(
            number=number, pid=number, token="", tiltyard="0.1.0", engine="0.1.0",
            plan_hash=plan.hash, boot="".join(run.boots[:1]), host=run.host, record=run.record,
            node=run.node, recovered=(), calibration=run.calibration,
        )  # fmt: skip
    course, done = progress_of(plan, run), 0
    for block in plan.sequence:
        if block.number in run.active_pairs:
            going_on = tuple(sorted(run.active_pairs[block.number]))
            yield Looked(blocks=done, done=False, reason="some are open", going_on=going_on)
        yield from (
            SystemPrepared(prepared=one) for one in run.prepared if one.block == block.number
        )
        for trial, data in zip(run.trials, files, strict=True):
            if trial.key.block == block.number:
                yield _finished(trial, data)
        if course.is_complete(block):
            done += 1
            yield BlockChecked(block=block.number, reasons=run.disturbed.get(block.number, ()))
    if run.stopped is not None:
        yield Stopped(reason=run.stopped)


def _finished(trial: TrialRecord, data: bytes) -> TrialFinished:
    return TrialFinished.model_validate(
        {
            **{name: getattr(trial, name) for name in ("key", "slot", "started", "elapsed_s")},
            **{name: getattr(trial, name) for name in ("outcome", "reason", "telemetry")},
            "file": file_of(trial.key),
            "sha256": sha256(data),
        }
    )


def _kept(trial: TrialRecord) -> bytes:
    """What the engine said."""
    said = [
        *(HelloEvent(type="hello", data=own) for own in [trial.hello] if own),
        *(ConnectionEvent(type="connection", data=own) for own in trial.connections),
        *(IntervalEvent(type="interval", data=own) for own in trial.intervals),
        *(SampleEvent(_made(sample)) for sample in trial.samples),
        *(EndEvent(type="end", data=own) for own in [trial.end] if own),
    ]
    lines = (
        msgspec.json.encode(event) if isinstance(event, SampleEvent)
        else event.model_dump_json(exclude_none=True).encode()
        for event in said
    )  # fmt: skip
    return kept(b"".join(line + b"\n" for line in lines))


def _made(sample: Sample) -> Sample:
    """With the time and the histogram that belong to its value."""
    if sample.latency_ns is not None:
        mean = 1e9 * sample.value if sample.unit == "s" else sample.latency_ns.mean
        buckets = [(round(mean), sample.operations)]
        latency = replace(sample.latency_ns, mean=mean, count=sample.operations, buckets=buckets)
        sample = replace(sample, latency_ns=latency)
    if sample.unit not in ("B/s", "1/s"):
        return sample
    if not sample.value:
        return replace(sample, bytes=0, operations=0)
    amount = sample.bytes if sample.unit == "B/s" else sample.operations
    return replace(sample, elapsed_s=amount / sample.value)
