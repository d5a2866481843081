"""Several clients of one system: a runner for each, one barrier, one stream of all of theirs.

A client's own stream is kept beside the trial's, and is on disk under its final name before it. One
that fails, is killed or is lost makes the trial a failed one, never a slow one: the others are
stopped at once, for what they do from then on is another load.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tiltyard.errors import TiltyardError
from tiltyard.executors.barrier import Barrier, Start, hear_together
from tiltyard.executors.engine import ConditionsWanted, Inject, Job
from tiltyard.executors.runner import Trial
from tiltyard.folder import create_file, partial_beside, sha256
from tiltyard.host.host import hosts
from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Steps
from tiltyard.host.telemetry import Telemetry, Watching, watch_of
from tiltyard.ownership import named_in_errors
from tiltyard.plan.model import STREAM_SUFFIX
from tiltyard.run.context import Context
from tiltyard.run.stream import Stream, keep_stream, kept, stream_of
from tiltyard.study.model import ClientSpec
from tiltyard.systems.kind import Up
from tiltyard.systems.other_host import engine_command, problems_of
from tiltyard.wire import HelloEvent, written_event

SKEW_MAX_S: Final = 0.025
"""Later than that nobody may begin: longer than a scheduler lets another task have a processor."""
SKEW_MAX_SHARE: Final = 0.01
"""In a longer region as much of it: that moves a sum by half of the equivalence margin, at most."""


@dataclass(frozen=True)
class ClientCallbacks:
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
    partial: Path
    """Where it is until it is whole."""


def execute_together(
    context: Context,
    specs: Sequence[ClientSpec],
    up: Up,
    job: Job,
    path: Path,
    hearing: ClientCallbacks,
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
        said = [client.partial.read_bytes() for client in clients]
        streams = [stream_of(data) for data in said]
        for place in ended:
            at = replace(up, place=clients[place].place)
            if reason := hearing.flaw(trials[place], streams[place], at):
                flaw = f"client {clients[place].name}: {reason}"
                return _kept(clients, streams[place]), flaw, seen
        told = [
            to_pool(client.name, client.partial, client.path, sha256(kept(data)), trial.starts)
            for client, data, trial in zip(clients, said, trials, strict=True)
        ]
        try:
            pooled = context.engine.pool(
                {"clients": told, "late_s": SKEW_MAX_S, "late_share": SKEW_MAX_SHARE}
            )
        except TiltyardError as error:
            return _kept(clients, streams[0]), str(error), seen
        _keep(clients)
        return pooled, None, seen
    finally:
        for client in clients:
            client.partial.unlink(missing_ok=True)
        with contextlib.ExitStack() as stack:
            for steps in made:
                stack.callback(steps.undo)


def to_pool(
    name: str, path: Path, its: Path, digest: str, starts: Iterable[Start]
) -> dict[str, object]:
    """A client as the wire's ``PoolClient``: its stream is at a path now, and will be kept."""
    at = [
        {
            "at_ns": start.at_ns,
            "ahead_ns": start.clock.ahead_ns,
            "uncertainty_ns": start.clock.uncertainty_ns,
        }
        for start in starts
    ]
    file = f"{its.parent.name}/{its.name}"
    return {"name": name, "path": str(path), "file": file, "sha256": digest, "starts": at}


def _kept(clients: Sequence[_Client], failed: Stream) -> bytes:
    """What is written of a trial that has failed: what was asked, without a last line."""
    _keep(clients)
    hello = (event for event in failed.events if isinstance(event, HelloEvent))
    return b"".join(map(written_event, hello))


def _keep(clients: Sequence[_Client]) -> None:
    for client in clients:
        keep_stream(client.path, client.partial.read_bytes(), sync=True)


def _watches(clients: Sequence[_Client], up: Up) -> list[Callable[[], Watching]]:
    """What begins to watch their hosts, but for those that the system itself has watched."""
    others = dict.fromkeys(client.place for client in clients)
    unseen = (place for place in others if place not in {HERE, up.place, up.far})
    found = (watch_of(place, {"serving": [place.host.engine]}) for place in unseen)
    return [begin for begin in found if begin]


def _execute(
    context: Context,
    clients: Sequence[_Client],
    hearing: ClientCallbacks,
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
        clients[0].partial.parent.mkdir(exist_ok=True)
        keeps = [stack.enter_context(create_file(client.partial)) for client in clients]
        runners = [
            stack.enter_context(
                contextlib.closing(
                    context.runners.another(client.argv, is_far=client.place.is_remote)
                )
            )
            for client in clients
        ]
        for client, runner, keep in zip(clients, runners, keeps, strict=True):
            job = client.job.message()
            limit = (hearing.limit_s, hearing.is_of_silence)
            trials.append(
                Trial(runner, job, keep, limit_s=limit[0], is_of_silence=limit[1], held_by=barrier)
            )
        with context.interrupt.stops(stop):
            hear_together(hear, len(trials), stop)
        seen = tuple(one.telemetry(last=True) for one in watching)
        for client, keep in zip(clients, keeps, strict=True):
            with named_in_errors(client.partial):
                keep.flush()
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
        place = Place(spec.address)
        update: dict[str, object] = {"conditions": _conditions(job.conditions, specs, number)}
        directory = None
        if isinstance(up.target, Path):
            given = Path(spec.directory) if spec.directory else up.target
            directory = update["target"] = given / context.ledger.name(f"client-{number}")
        try:
            made.append(Steps(context.ledger, context.interrupt.check, place=place))
            engine = context.engine.of(job.workload).path
            argv = _there(context, place, directory, up, made[-1], engine)
        except (TiltyardError, OSError) as error:
            fix = ' Fix: mount the target there, or name its path: { host = "…", directory = "…" }'
            raise TiltyardError(f"client {name}: {error}.{fix if directory else ''}") from error
        stem = path.name.removesuffix(STREAM_SUFFIX)
        own = path.with_name(f"{stem}.client-{number}{STREAM_SUFFIX}")
        its = job.model_copy(update=update)
        yield _Client(name, argv, place, its, own, partial_beside(own))


def _there(
    context: Context, place: Place, directory: Path | None, up: Up, steps: Steps, engine: Path
) -> tuple[str, ...]:
    """The command of the client's engine, when its directory is made."""
    if place.is_remote and (problems := [one.text for one in problems_of(place)]):
        raise TiltyardError("; ".join(problems))
    steps.begin()
    if directory is not None:
        steps.take([MakeDirectory(path=directory, private=place.is_remote)])
    if place.is_remote:
        is_ours = engine == context.engine.path
        host = place.host if is_ours else hosts.of(place.address, engine)
        return engine_command(place, host.engine)
    return (*context.apart, *up.prefix, str(engine))


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
