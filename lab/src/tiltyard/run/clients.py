"""Several clients of one system: a runner for each, one barrier, one stream of all of theirs.

A client's own stream is kept beside the trial's, and is on disk under its final name before it. One
that fails, is killed or is lost makes the trial a failed one, never a slow one: the others are
stopped at once, for what they do from then on is another load.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.executors.barrier import Barrier, hear_together
from tiltyard.executors.engine import ConditionsWanted, Inject, Job
from tiltyard.executors.runner import Trial
from tiltyard.folder import sha256
from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Steps
from tiltyard.host.telemetry import Telemetry, Watching, watch_of
from tiltyard.plan.model import STREAM_SUFFIX
from tiltyard.run.context import Context
from tiltyard.run.pooled import ClientStream, NotPooledError, pool
from tiltyard.run.stream import Stream, keep_stream, kept, stream_of
from tiltyard.study.model import ClientSpec
from tiltyard.systems.kind import Up
from tiltyard.systems.other_host import OtherHost
from tiltyard.wire import HelloEvent, written_event


@dataclass(frozen=True)
class Hearing:
    """What is done with one client's trial."""

    follow: Callable[[Trial], object]
    """Hears it to its end, and shows how far it is."""
    flaw: Callable[[Trial, Stream, Up], str | None]
    """Why it has failed, when it has ended."""
    limit_s: float
    """After that time it is stopped."""
    is_of_silence: bool
    """Whether that begins anew with each word of it."""


@dataclass(frozen=True)
class _Client:
    """One client, ready to be started."""

    name: str
    argv: tuple[str, ...]
    place: Place
    job: Job
    path: Path
    """Where its stream is kept."""
    said: io.BytesIO
    """What it has said so far."""


def execute_together(
    context: Context, specs: Sequence[ClientSpec], up: Up, job: Job, path: Path, hearing: Hearing
) -> tuple[bytes, str | None, tuple[Telemetry, ...]]:
    """Have clients execute a job at the same time.

    Args:
        context: of the run.
        specs: the clients.
        up: the system.
        job: that of one client.
        path: the trial's own file, beside which those of the clients are.
        hearing: what is done with each.

    Returns:
        The common stream, and why the trial has failed if it has; then there is only its begin.
        What their hosts did meanwhile, where nothing else watches them.

    Raises:
        InterruptedRunError: if a signal came; nothing is kept.
    """
    clients, made = list[_Client](), list[Steps]()
    try:
        try:
            clients.extend(_ready(context, specs, up, job, path, made))
            watches = _watches(clients, up)
        except (TiltyardError, OSError) as error:
            context.interrupt.check()
            return b"", str(error), ()
        trials, ended, seen = _execute(context, clients, hearing, watches)
        context.interrupt.check()
        said = [client.said.getvalue() for client in clients]
        streams = [stream_of(one) for one in said]
        for place in ended:
            at = replace(up, place=clients[place].place)
            if reason := hearing.flaw(trials[place], streams[place], at):
                flaw = f"client {clients[place].name}: {reason}"
                return _kept(clients, streams[place]), flaw, seen
        of_clients = [
            ClientStream(
                name=client.name,
                file=f"{path.parent.name}/{client.path.name}",
                sha256=sha256(kept(data)),
                stream=stream,
                starts=trial.starts,
            )
            for client, data, stream, trial in zip(clients, said, streams, trials, strict=True)
        ]
        try:
            events = pool(of_clients)
        except NotPooledError as error:
            return _kept(clients, streams[0]), str(error), seen
        _keep(clients)
        return b"".join(map(written_event, events)), None, seen
    finally:
        with contextlib.ExitStack() as stack:
            for steps in made:
                stack.callback(steps.undo)


def _kept(clients: Sequence[_Client], failed: Stream) -> bytes:
    """What is written of a trial that has failed: what was asked, without a last line."""
    _keep(clients)
    hello = (event for event in failed.events if isinstance(event, HelloEvent))
    return b"".join(map(written_event, hello))


def _keep(clients: Sequence[_Client]) -> None:
    for client in clients:
        keep_stream(client.path, client.said.getvalue(), sync=True)


def _watches(clients: Sequence[_Client], up: Up) -> list[Callable[[], Watching]]:
    """What begins to watch their hosts, but for those that the system itself has watched."""
    others = dict.fromkeys(client.place for client in clients)
    unseen = (place for place in others if place not in {HERE, up.place, up.far})
    found = (watch_of(place, {"serving": [place.host.engine]}) for place in unseen)
    return [begin for begin in found if begin]


def _execute(
    context: Context,
    clients: Sequence[_Client],
    hearing: Hearing,
    watches: Sequence[Callable[[], Watching]],
) -> tuple[list[Trial], list[int], tuple[Telemetry, ...]]:
    """Carry all out; their trials, their places in the order in which they ended, and their hosts.

    What is watched begins when all are ready: their engines are there then, and no strangers.
    """
    trials, watching = list[Trial](), list[Watching]()
    barrier = Barrier(
        len(clients), lambda: watching.extend(stack.enter_context(begin()) for begin in watches)
    )
    ended: list[int] = []

    def stop() -> None:
        for trial in trials:
            trial.stop()

    def hear(place: int) -> None:
        trial = trials[place]
        try:
            # One of them shows how far the work is.
            (hearing.follow if place == 0 else _drain)(trial)
        finally:
            ended.append(place)
            barrier.leave()
        if not trial.is_told or trial.exit_status:
            stop()

    with contextlib.ExitStack() as stack:
        runners = [
            stack.enter_context(
                contextlib.closing(
                    context.runners.another(client.argv, is_far=bool(client.place.ssh))
                )
            )
            for client in clients
        ]
        for client, runner in zip(clients, runners, strict=True):
            trial = Trial(
                runner,
                client.job.message(),
                client.said,
                limit_s=hearing.limit_s,
                is_of_silence=hearing.is_of_silence,
                held_by=barrier,
            )
            trials.append(trial)
        with context.interrupt.stops(stop):
            hear_together(hear, len(trials), stop)
        seen = tuple(one.telemetry(last=True) for one in watching)
    return trials, ended, seen


def _drain(trial: Trial) -> None:
    for _ in trial.lines():
        pass


def _ready(
    context: Context, specs: Sequence[ClientSpec], up: Up, job: Job, path: Path, made: list[Steps]
) -> Iterator[_Client]:
    """Each with its directory; what that has changed is in ``made``.

    Raises:
        TiltyardError: with the client's name, if that cannot be had.
    """
    for number, spec in enumerate(specs, 1):
        name = f"{number} ({spec.host})" if spec.host else str(number)
        place = Place.over_ssh(spec.host, spec.ssh_options) if spec.host else HERE
        update: dict[str, object] = {"conditions": _conditions(job.conditions, specs, number)}
        directory = None
        if isinstance(up.target, Path):
            given = Path(spec.directory) if spec.directory else up.target
            directory = update["target"] = given / context.ledger.name(f"client-{number}")
        try:
            made.append(Steps(context.ledger, context.interrupt.check, place=place))
            argv = _there(context, place, directory, up, made[-1])
        except (TiltyardError, OSError) as error:
            fix = ' Fix: mount the target there, or name its path: { host = "…", directory = "…" }'
            raise TiltyardError(f"client {name}: {error}.{fix if directory else ''}") from error
        stem = path.name.removesuffix(STREAM_SUFFIX)
        own = path.with_name(f"{stem}.client-{number}{STREAM_SUFFIX}")
        its = job.model_copy(update=update)
        yield _Client(name, argv, place, its, own, io.BytesIO())


def _there(
    context: Context, place: Place, directory: Path | None, up: Up, steps: Steps
) -> tuple[str, ...]:
    """The command of the client's engine, when its directory is made."""
    host = OtherHost(place)
    if place.ssh and (problems := [one.text for one in host.problems()]):
        raise TiltyardError("; ".join(problems))
    steps.begin()
    if directory is not None:
        steps.take([MakeDirectory(path=directory, private=bool(place.ssh))])
    if place.ssh:
        return host.argv(place.host.engine)
    return (*context.apart, *up.prefix, str(context.engine.path))


def _conditions(
    asked: ConditionsWanted, specs: Sequence[ClientSpec], number: int
) -> ConditionsWanted:
    """Clients of one host begin with different CPUs of it, where they are known."""
    spec, update = specs[number - 1], dict[str, object]()
    mates = [place for place, one in enumerate(specs, 1) if one.host == spec.host]
    if len(mates) > 1 and not asked.unpinned and asked.numa is None:
        cpus = asked.cpus or (() if spec.host else tuple(sorted(os.sched_getaffinity(0))))
        first = mates.index(number) % len(cpus) if cpus else 0
        update = {"cpus": cpus[first:] + cpus[:first], "unpinned": not cpus}
    if spec.inject_ns:
        update["inject"] = Inject(delay_ns=spec.inject_ns)
    return asked.model_copy(update=update)
