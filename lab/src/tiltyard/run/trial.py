"""One trial: run the engine, keep its output verbatim, and have it on disk before anything else.

The output goes to ``NAME.partial``, is synced, renamed, and only then told to the journal. So a
file with its final name is a finished trial, even if we were killed before the journal knew; such
a file is adopted at the next start, and anything ``.partial`` is thrown away.
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tiltyard.executors.engine import Job
from tiltyard.executors.local import LocalTrial
from tiltyard.folder import sha256, sync_directory
from tiltyard.host.place import SSH_FAILED
from tiltyard.host.telemetry import Telemetry, watch
from tiltyard.plan.model import TrialKey
from tiltyard.run.context import Context
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished, TrialStarted, now
from tiltyard.run.observer import Observer
from tiltyard.run.settle import settle
from tiltyard.run.stream import file_of, read_stream
from tiltyard.systems import kind
from tiltyard.systems.kind import Up
from tiltyard.wire import ProgressEvent, read_event

_LEAST_LIMIT_S = 600.0
_LIMIT_FACTOR = 20


@dataclass(frozen=True)
class _Ended:
    """How a trial ended."""

    outcome: Literal["done", "failed"]
    reason: str | None
    elapsed_s: float
    telemetry: Telemetry


def run_trial(context: Context, key: TrialKey, up: Up) -> None:
    """Run one trial on a system that is up; afterwards it is on disk and in the journal.

    Raises:
        InterruptedRunError: if a signal came; nothing is kept of the trial.
    """
    settled = settle(context.interrupt.check, up.place)
    slot = context.slots[key]
    started = TrialStarted(
        key=key,
        slot=slot,
        settled_s=settled.elapsed_s,
        dirty_bytes=settled.dirty_bytes,
        waiting_share=settled.waiting_share,
    )
    at = context.journal.append(started).at
    context.observer.trial_started(key, slot, context.outlook)
    path = context.folder.root / file_of(key)
    partial = path.with_name(path.name + ".partial")
    path.parent.mkdir(exist_ok=True)
    try:
        ended = _execute(context, key, up, partial)
        context.interrupt.check()
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    context.finish(
        TrialFinished(
            key=key,
            slot=slot,
            started=at,
            elapsed_s=ended.elapsed_s,
            outcome=ended.outcome,
            reason=ended.reason,
            file=file_of(key),
            sha256=sha256(path.read_bytes()),
            telemetry=ended.telemetry,
        )
    )


def fail_trial(context: Context, key: TrialKey, reason: str) -> None:
    """Write down a trial that could not even start."""
    context.finish(
        TrialFinished(
            key=key,
            slot=context.slots[key],
            started=now(),
            elapsed_s=0,
            outcome="failed",
            reason=reason,
            file="",
            sha256="",
        )
    )


def _execute(context: Context, key: TrialKey, up: Up, partial: Path) -> _Ended:
    """Run the engine to its end; its output is in ``partial``, synced."""
    spec = context.plan.workload(key.workload).spec
    conditions = context.conditions
    if up.cpus:
        conditions = conditions.model_copy(update={"cpus": up.cpus, "unpinned": False})
    system = context.plan.system(key.system)
    if inject := kind(system.kind).inject(system.settings):
        conditions = conditions.model_copy(update={"inject": inject})
    job = Job(
        workload=spec.use, parameters=spec.parameters, target=up.target, conditions=conditions
    )
    limit_s = _limit_s(context.history, key.workload)
    with partial.open("wb") as keep, watch(up.place, _watched(up), up.servers()) as watching:
        began = time.monotonic()
        trial = LocalTrial(
            up.engine or (str(context.engine.path),),
            job.message(),
            keep,
            prefix=up.prefix,
            limit_s=limit_s,
            hold=context.ledger.hold,
            attended=bool(up.place.ssh),
        )
        with context.interrupt.stops(trial.stop):
            for line in trial.lines():
                _show(context.observer, line)
        elapsed_s = time.monotonic() - began
        telemetry = watching.telemetry()
        keep.flush()
        os.fsync(keep.fileno())
    stream = read_stream(partial.read_bytes())
    outcome, reason = stream.outcome
    if trial.timed_out:
        outcome, reason = "failed", f"stopped after {limit_s:.0f} s: far longer than before"
    elif stream.end is None:
        reason = _death(trial, up, heard=stream.hello is not None)
    if outcome == "failed" and up.served and not up.servers():
        reason = f"what serves the system has ended: {reason}"
    return _Ended(outcome, reason, elapsed_s, telemetry)


def _watched(up: Up) -> Path | None:
    """The directory whose disk can be watched; not one that only the engine sees, or a dead one."""
    try:
        return up.target if isinstance(up.target, Path) and up.target.is_dir() else None
    except OSError:
        return None


def _death(trial: LocalTrial, up: Up, *, heard: bool) -> str:
    """Why an engine ended without its last line.

    Args:
        trial: it has ended.
        up: the system.
        heard: whether the engine had said anything.
    """
    if up.place.ssh and trial.exit_status == SSH_FAILED:
        what = "lost the connection to" if heard else "cannot reach"
        return f"{what} {up.place}: {trial.last_words() or 'ssh does not say why'}"
    if trial.exit_status < 0:
        return f"the engine was killed by {signal.Signals(-trial.exit_status).name}"
    said = trial.last_words() or "it did not say why"
    return f"the engine ended with status {trial.exit_status}: {said}"


def _show(observer: Observer, line: bytes) -> None:
    """Pass progress on; whether the stream as a whole is sound is judged when it has ended."""
    try:
        event = read_event(line)
    except ValueError:
        return
    if isinstance(event, ProgressEvent):
        observer.progress(event.data.done, event.data.what)


def _limit_s(history: History, workload: str) -> float | None:
    """When a trial must be taken for hung; ``None`` before the workload has been seen once."""
    seen = [event.elapsed_s for key, event in history.finished.items() if key.workload == workload]
    return max(_LEAST_LIMIT_S, _LIMIT_FACTOR * max(seen)) if seen else None
