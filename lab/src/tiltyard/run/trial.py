"""One trial: run the engine, keep its output verbatim, and have it on disk before anything else.

The output is kept in memory while the trial goes on, so that we write nothing beside it. Then it
is compressed into a file ``.partial``, synced, renamed, and only then told to the journal. So a
file with its final name is a finished trial, even if we were killed before the journal knew; such
a file is adopted at the next start, and anything ``.partial`` is thrown away. Files of brief
trials are synced together, with the lines of the journal (:mod:`tiltyard.run.journal`).
"""

import contextlib
import io
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from tiltyard.executors.engine import Job
from tiltyard.executors.runner import Trial
from tiltyard.folder import sha256, sync_directory
from tiltyard.host.commands import signal_name
from tiltyard.host.telemetry import FarWatch, Telemetry, Watch, bracketed
from tiltyard.plan.model import Plan, PlannedWorkload, TrialKey
from tiltyard.plan.program import is_open
from tiltyard.run.boot import booted
from tiltyard.run.clients import ClientCallbacks, execute_together
from tiltyard.run.context import Context
from tiltyard.run.history import History
from tiltyard.run.journal import ExecutionsSet, Settled, TrialFinished, TrialStarted, now
from tiltyard.run.same_output import expected_output, outcome_of
from tiltyard.run.settle import IDLE_BYTES, Settling, settle
from tiltyard.run.sizing import Asked, Tried, further
from tiltyard.run.stages import program_job, silence_s
from tiltyard.run.stream import Stream, file_of, keep_stream, stream_of
from tiltyard.study.program import SECRET
from tiltyard.systems.kind import Up
from tiltyard.units import format_duration
from tiltyard.wire import Hello, HelloEvent, HostSettled, ProgressEvent, read_event

_LEAST_LIMIT_S = 600.0
_LIMIT_FACTOR = 20
_SHOWN_EVERY_S = 0.05
_PROGRESS = b'"type":"progress"'
_HELLO = b'"type":"hello"'
_LOST = "lost the connection to"


@dataclass(frozen=True)
class Limit:
    """When a trial is taken for hung, and why then."""

    seconds: float
    why: str
    is_of_silence: bool = False
    """Whether it counts from its last word."""

    @property
    def reason(self) -> str:
        """Of a trial that was stopped."""
        silent = " without a word" if self.is_of_silence else ""
        return f"stopped after {format_duration(self.seconds)}{silent}: {self.why}"


@dataclass(frozen=True)
class Ended:
    """How a trial ended."""

    outcome: Literal["done", "failed"]
    reason: str | None
    elapsed_s: float
    telemetry: Telemetry
    stream: Stream
    said: bytes
    """What the stream was read from."""
    settled: HostSettled | None = None
    """How its host had come to rest, where its runner has seen to that."""


def run_trial(context: Context, key: TrialKey, up: Up) -> None:
    """Run one trial on a system that is up; afterwards it is on disk and in the journal.

    Where a program has to tell first how often it is executed, it is tried instead, and nothing is
    kept; but a trial whose executions are long, or that fails, is one already.

    Raises:
        InterruptedRunError: if a signal came; nothing is kept of the trial.
    """
    asked = asked_of(context, key.workload)
    if asked and key.workload in context.tried and key.repeat > 1:
        return
    is_brief = context.is_brief(key.workload)
    settles = settling(context, key.workload, up)
    bracket = bracket_of(context, key.workload, up, settles)
    settled = None if bracket else settle(settles, up.place)
    begun = begin_trial(context, key, waits=is_brief)
    ended = _execute(context, key, up, brief=is_brief, bracket=bracket)
    context.interrupt.check()
    if asked and ended.outcome == "done" and not _is_long(context, key, asked, ended):
        _try_further(context, key, up, asked, ended)
        return
    keep_trial(context, key, begun, ended, ended.settled or settled, waits=is_brief)


def begin_trial(context: Context, key: TrialKey, *, waits: bool) -> str:
    """Write down that a trial begins; when that was, UTC, ISO 8601."""
    slot = context.slots[key]
    at = context.journal.append(TrialStarted(key=key, slot=slot), waits=waits).at
    context.observer.trial_started(key, slot, context.outlook)
    return at


def keep_trial(
    context: Context,
    key: TrialKey,
    begun: str,
    ended: Ended,
    settled: HostSettled | None,
    *,
    waits: bool,
    alternated: bool = False,
) -> None:
    """Keep the output, and write down that the trial has ended."""
    path = context.folder.root / file_of(key)
    kept = keep_stream(path, ended.said, sync=not waits)
    if waits:
        context.journal.owe(path)
    else:
        sync_directory(path.parent)
    finished = TrialFinished(
        key=key,
        slot=context.slots[key],
        started=begun,
        elapsed_s=ended.elapsed_s,
        outcome=ended.outcome,
        reason=ended.reason,
        file=file_of(key),
        sha256=sha256(kept),
        settled=Settled.model_validate(settled.model_dump()) if settled else None,
        telemetry=ended.telemetry,
        written_bytes=ended.stream.written_bytes,
        alternated=alternated,
    )
    context.finish(finished, ended.stream, waits=waits)


def asked_of(context: Context, workload: str) -> Asked | None:
    """What a program's executions are tried for; ``None``: their number is set, or stays open.

    It stays open where a host is booted for each turn: it would be booted once more.
    """
    planned, history = context.plan.workload(workload), context.history
    if planned.program is None or not is_open(planned.program):
        return None
    if workload in history.executions or workload in history.longest_done_s:
        return None
    if any(booted(system) for system in context.plan.systems):
        return None
    at_least_s, executions = (planned.effective[name] for name in ("at_least", "executions"))
    assert isinstance(at_least_s, int | float)
    assert isinstance(executions, int)
    return Asked(at_least_s, executions)


def set_executions(context: Context, numbers: dict[str, int]) -> None:
    """Write down how often programs are executed in each trial from now on."""
    elapsed_s = sum(one.elapsed_s for name in numbers for one in context.tried.get(name, ()))
    context.journal.append(ExecutionsSet(executions=numbers, elapsed_s=elapsed_s))


def _is_long(context: Context, key: TrialKey, asked: Asked, ended: Ended) -> bool:
    """Whether one execution decides the number, which is set then; none was for nothing."""
    times_s = [one.elapsed_s for one in ended.stream.executions]
    if len(times_s) > asked.executions or fmean(times_s) < asked.most_s:
        return False
    # Before the trial is: a run that is killed between both goes on with this number.
    set_executions(context, {key.workload: asked.executions})
    return True


def _try_further(context: Context, key: TrialKey, up: Up, asked: Asked, ended: Ended) -> None:
    """Execute a program as often as tells how much its executions scatter; nothing is kept."""
    times_s, elapsed_s = [one.elapsed_s for one in ended.stream.executions], ended.elapsed_s
    enough = len(times_s)
    if number := further(times_s, elapsed_s, asked):
        bracket = bracket_of(context, key.workload, up, None)
        more = _execute(context, key, up, brief=True, bracket=bracket, executions=number)
        context.interrupt.check()
        elapsed_s += more.elapsed_s
        if more.outcome == "done":
            times_s += [one.elapsed_s for one in more.stream.executions]
    tried = Tried(enough, tuple(times_s), elapsed_s)
    context.tried.setdefault(key.workload, []).append(tried)


def settling(context: Context, workload: str, up: Up) -> Settling:
    """How a host comes to rest; what goes on between brief trials that write nothing is watched."""
    is_idle = context.is_brief(workload) and _is_idle(context, up)
    if not is_idle:
        context.watches.close()
    times = context.history.times_of_workload.get(workload)
    brief = is_idle and not up.place.is_remote
    return Settling.before(times.median_s if times else None, brief=brief)


Bracket = Mapping[str, object]
"""That of the wire."""


def bracket_of(context: Context, workload: str, up: Up, settles: Settling | None) -> Bracket | None:
    """What the runner of a trial does on another host; ``None``: several have a part in the trial.

    Here an exchange takes no time, and which CPUs measure is known when the trial has ended.
    """
    if not up.watched or context.plan.workload(workload).spec.clients:
        return None
    asked = {"settle": settles._asdict()} if settles else {}
    return {**asked, "watch": up.watched()}


def _is_idle(context: Context, up: Up) -> bool:
    """Whether we have written next to nothing since the disks came to rest."""
    finished = context.history.finished
    if up.commands or not finished:
        return False
    written_bytes = finished[next(reversed(finished))].written_bytes
    return written_bytes is not None and written_bytes <= IDLE_BYTES


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


def _execute(
    context: Context,
    key: TrialKey,
    up: Up,
    *,
    brief: bool,
    bracket: Bracket | None = None,
    executions: int | None = None,
) -> Ended:
    """Run the engine to its end, or one for each client.

    Args:
        context: what every step needs.
        key: the trial.
        up: its system.
        brief: whether trials of the workload are.
        bracket: see :func:`bracket_of`.
        executions: of its program, where those are not the run's.
    """
    workload = context.plan.workload(key.workload)
    counted = brief and is_watched(context, key, up)
    job = job_of(context, key, up, watched=counted, executions=executions)
    limit = limit_of(context.history, context.plan, key.workload)
    keep = io.BytesIO()
    settled: HostSettled | None = None
    with watching(context, up, brief=brief, by_runner=bool(bracket)) as telemetry_of:
        began = time.monotonic()
        cpus: tuple[int, ...] | None = ()
        seen: tuple[Telemetry, ...] = ()
        if clients := workload.spec.clients:
            hearing = ClientCallbacks(
                follow=lambda one: follow(one, context.observer.progress),
                flaw=lambda one, its, at: flaw_of(one, its, at, limit) or its.outcome[1],
                limit_s=limit.seconds,
                is_of_silence=limit.is_of_silence,
            )
            own = context.folder.root / file_of(key)
            pooled, flaw, seen = execute_together(context, clients, up, job, own, hearing)
            keep.write(pooled)
        else:
            secret = up.variables.get(SECRET, "")
            trial = Trial(
                context.runner(up, workload.spec.use),
                job.message(),
                keep,
                limit_s=limit.seconds,
                is_of_silence=limit.is_of_silence,
                secret=secret,
                bracket=bracket,
            )
            with context.interrupt.stops(trial.stop):
                cpus = measuring(up, follow(trial, context.observer.progress))
            began, settled = trial.began_s, trial.settled
        elapsed_s = time.monotonic() - began
        telemetry = telemetry_of(cpus)
        if bracket:
            told = bracketed(trial.seen, elapsed_s, up.place)
            telemetry = told.model_copy(update={"others": telemetry.others})
        telemetry = telemetry.model_copy(update={"others": (*telemetry.others, *seen)})
    ended = ended_of(
        context,
        key,
        keep.getvalue(),
        up,
        lambda stream: flaw if clients else flaw_of(trial, stream, up, limit),
        elapsed_s=elapsed_s,
        telemetry=telemetry,
    )
    return replace(ended, settled=settled)


def ended_of(
    context: Context,
    key: TrialKey,
    said: bytes,
    up: Up,
    flaw_in: Callable[[Stream], str | None],
    *,
    elapsed_s: float,
    telemetry: Telemetry,
) -> Ended:
    """How a trial ended, by what it said, by what was found about it, and by its system."""
    stream = stream_of(said, context.plan.workload(key.workload))
    earlier = context.history.finished.values()
    outcome, reason = outcome_of(context.folder, context.plan, earlier, key, stream)
    if (flaw := flaw_in(stream)) is not None:
        outcome, reason = "failed", flaw
    if (lost := up.lost()) and not (reason or "").startswith(_LOST):
        outcome, reason = "failed", ": ".join(filter(None, (lost, reason)))
    return Ended(outcome, reason, elapsed_s, telemetry, stream, said)


def flaw_of(trial: Trial, stream: Stream, up: Up, limit: Limit) -> str | None:
    """Why what a trial has said cannot be its result, but for what it says itself."""
    if trial.timed_out:
        return limit.reason
    if trial.excess is not None:
        return f"the engine was stopped: {trial.excess}"
    if stream.end is None and (stream.flaw is None or trial.exit_status):
        return _death(trial, up, heard=stream.hello is not None)
    return None


def job_of(
    context: Context,
    key: TrialKey,
    up: Up,
    *,
    watched: bool = False,
    executions: int | None = None,
) -> Job:
    """What the engine is asked for: a workload of its own, or to execute a program."""
    conditions = context.conditions.model_copy(update={"watched": watched})
    if up.cpus:
        conditions = conditions.model_copy(update={"cpus": up.cpus, "unpinned": False})
    if inject := context.injected[key.system]:
        conditions = conditions.model_copy(update={"inject": inject})
    workload = context.plan.workload(key.workload)
    parameters = workload.parameters(key.repeat)
    if workload.program is None:
        return Job(
            workload=workload.spec.use,
            parameters=parameters,
            target=up.target,
            conditions=conditions,
        )
    job = program_job(context, workload, key.system, up, conditions, executions)
    earlier = context.history.finished.values()
    expected = expected_output(context.folder, context.plan, earlier, key)
    return job.model_copy(update={"expected": expected})


def is_watched(context: Context, key: TrialKey, up: Up) -> bool:
    """Whether what others use of the CPUs that measure is seen from here."""
    is_of_many = bool(context.plan.workload(key.workload).spec.clients)
    is_remote = bool(up.engine) or up.place.is_remote
    return not (is_of_many or is_remote or context.plan.conditions.keep_awake)


@contextlib.contextmanager
def watching(
    context: Context, up: Up, *, brief: bool, by_runner: bool = False
) -> Iterator[Callable[[tuple[int, ...] | None], Telemetry]]:
    """The counters of its hosts from now on; from the end of the last trial on, if both are brief.

    Args:
        context: what every step needs.
        up: the system.
        brief: the trial takes less than a second.
        by_runner: the runner watches the host of the trial.

    Yields:
        What tells them, of the CPUs that measured.
    """
    directory = _watched(up)
    with contextlib.ExitStack() as stack:
        shares = brief and not up.place.is_remote and not up.servers()
        far = stack.enter_context(up.watch_far()) if up.watch_far else None
        own: Watch | FarWatch | None = None
        if shares:
            own = context.watches.of(directory)
        else:
            context.watches.close()
            if not by_runner:
                own = FarWatch(up.place, up.watched) if up.watched else Watch(directory, up.servers)
                stack.enter_context(own)

        def telemetry_of(cpus: tuple[int, ...] | None) -> Telemetry:
            seen = own.telemetry(cpus, last=not shares) if own else Telemetry(elapsed_s=0)
            others = (far.telemetry(last=True),) if far else ()
            return seen.model_copy(update={"others": others}) if others else seen

        yield telemetry_of


def _watched(up: Up) -> Path | None:
    """The directory whose disk can be watched; not one that only the engine sees, or a dead one."""
    try:
        return up.target if isinstance(up.target, Path) and up.target.is_dir() else None
    except OSError:
        return None


def _death(trial: Trial, up: Up, *, heard: bool) -> str:
    """Why an engine ended without its last line.

    Args:
        trial: it has ended.
        up: the system.
        heard: whether the engine had said anything.
    """
    if trial.flaw is not None:
        return f"{up.place}: {trial.flaw}"
    words = trial.last_words()
    if not trial.is_told and up.place.address.is_lost(trial.exit_status, words):
        what = _LOST if heard else "cannot reach"
        return f"{what} {up.place}: {words or 'no reason is given'}"
    if trial.exit_status < 0:
        return f"the engine was killed by {signal_name(-trial.exit_status)}"
    return f"the engine ended with status {trial.exit_status}: {words or 'it did not say why'}"


def follow(trial: Trial, show: Callable[[float, str], None]) -> Hello | None:
    """Hear a trial to its end and pass progress on, as often as a person can see it.

    Whether the stream as a whole is sound is judged when it has ended.

    Returns:
        What it began with; ``None`` if that was never said.
    """
    hello: Hello | None = None
    shown_s = -_SHOWN_EVERY_S
    for line in trial.lines():
        shows = _PROGRESS in line and time.monotonic() - shown_s >= _SHOWN_EVERY_S
        if not shows and (hello or _HELLO not in line):
            continue
        with contextlib.suppress(ValueError):
            event = read_event(line)
            if isinstance(event, HelloEvent):
                hello = event.data
            elif isinstance(event, ProgressEvent):
                shown_s = time.monotonic()
                show(event.data.done, event.data.what)
    return hello


def measuring(up: Up, hello: Hello | None) -> tuple[int, ...] | None:
    """The CPUs of this host that measured, none for all; ``None`` where that is not known.

    Those of a guest are not this host's, and spinners of the engine use others beside them.
    """
    if up.engine or hello is None or hello.conditions.awake:
        return None
    return tuple(hello.conditions.cpus)


def limit_of(history: History, plan: Plan, workload: str) -> Limit:
    """When a trial must be taken for hung.

    Before a trial of the workload is done, what it is told to take, how long it may say nothing
    and what the study may take are all that is known.
    """
    if longest_s := history.longest_done_s.get(workload):
        return Limit(max(_LEAST_LIMIT_S, _LIMIT_FACTOR * longest_s), "far longer than before")
    planned = plan.workload(workload)
    if told_s := _told_s(planned):
        return Limit(max(_LEAST_LIMIT_S, _LIMIT_FACTOR * told_s), "far longer than it should take")
    silent = Limit(silence_s(planned), "no step of it takes as long", is_of_silence=True)
    budget_s = max(_LEAST_LIMIT_S, plan.budget_s or math.inf)
    if budget_s < silent.seconds:
        return Limit(budget_s, "longer than the budget of the whole study")
    return silent


def _told_s(workload: PlannedWorkload) -> float | None:
    """How long a workload over a network should take; others lay their files out before."""
    effective = workload.effective
    seconds = effective.get("seconds")
    instead = effective.get("bytes") or effective.get("transactions")
    if workload.target != "far" or instead or not isinstance(seconds, int | float):
        return None
    return seconds * math.prod(len(each) for each in effective.values() if isinstance(each, list))
