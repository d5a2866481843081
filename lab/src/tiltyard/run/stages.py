"""The jobs of programs, and what they ask for once a turn or once at each start of a run.

Setup and cleanup of these levels are executed by the engine, contained as the program itself is,
in a directory that the parts of one level share. That a cleanup is owed is in the ledger before
the setup, so that a run that was killed does not leave it out.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from tiltyard.errors import TrialsFailedError
from tiltyard.executors.engine import ConditionsWanted, Job, Part, Stage
from tiltyard.executors.runner import Trial
from tiltyard.host.commands import Command
from tiltyard.host.op import Owe
from tiltyard.host.steps import Steps
from tiltyard.plan.model import PlannedWorkload
from tiltyard.plan.program import (
    job_parameters,
    job_variables,
    study_table,
    told_variables,
    with_number,
)
from tiltyard.run.context import Context
from tiltyard.run.settle import IDLE_BYTES, Settling, settle
from tiltyard.run.stream import Stream, stream_of
from tiltyard.study.program import PROGRAM, SECRET, STUDY_DIR
from tiltyard.systems.kind import Up

Level = Literal["study", "turn"]
_LAST_S: Final = 10.0
"""What the engine gives to a cleanup when a person has asked to stop."""
SILENCE_S: Final = 3 * 3600.0
"""The longest that a workload may say nothing: one phase that writes 2 TiB at 200 MB/s."""
_ASIDE_S: Final = 1800.0
"""What a program may take without a word beside its commands: its directory, with a million files,
is removed over a network at 1 ms each."""


@dataclass(frozen=True)
class Place:
    """Where parts are executed."""

    level: Level
    target: Path
    system: str = ""
    """Empty: none is up."""
    up: Up | None = None


def program_job(
    context: Context,
    workload: PlannedWorkload,
    system: str,
    up: Up,
    conditions: ConditionsWanted,
    executions: int | None = None,
) -> Job:
    """A trial of a program on a system that is up, with the run's executions or so many."""
    stage = None
    if (workload.program or {}).get("turn"):
        stage = Stage(part="trial", room=_room(context, workload, "turn"))
    number = executions or context.history.executions.get(workload.spec.name)
    return _job_on(context, workload, system, up, stage, conditions, number)


def _job_on(
    context: Context,
    workload: PlannedWorkload,
    system: str,
    up: Up,
    stage: Stage | None,
    conditions: ConditionsWanted,
    executions: int | None = None,
) -> Job:
    assert workload.program is not None
    spec, root = context.plan.system(system), context.programs_from
    told = {**told_variables(workload.program, up.far_place), **job_variables(spec, root)}
    told |= up.variables
    if workload.program.get("study"):
        told[STUDY_DIR] = str(_study_dir(context, workload))
    program = with_number(workload.program, executions)
    return Job(
        workload=PROGRAM,
        parameters=job_parameters(program, spec, root),
        target=directory_of(context, up),
        variables=told,
        stage=stage,
        far_place=up.far_place,
        conditions=conditions,
    )


def silence_s(workload: PlannedWorkload) -> float:
    """After so long without a word a trial hangs.

    Of a program each command has a word, and a time that it may take; so has what it wrote, to be
    read. A server may take its time to begin and to end.
    """
    timeout_s, servers = (workload.effective.get(name) for name in ("timeout", "servers"))
    if workload.program is None or not isinstance(timeout_s, int | float):
        return SILENCE_S
    listed = servers if isinstance(servers, list) else []
    # Where it is left out, it is a minute.
    of_servers = sum(
        2 * server.get("timeout", 60.0) for server in listed if isinstance(server, dict)
    )
    return float(2 * timeout_s + of_servers + _ASIDE_S)


def directory_of(context: Context, up: Up) -> Path:
    """Where programs work on a system: in its directory; of two ends in the scratch folder."""
    return up.target if isinstance(up.target, Path) else context.folder.work.resolve()


def _room(context: Context, workload: PlannedWorkload, level: Level) -> str:
    """Name of the directory of a level: the same in each turn, as programs print paths."""
    return f"{level}-{context.plan.workloads.index(workload) + 1}"


def _study_dir(context: Context, workload: PlannedWorkload) -> Path:
    return context.folder.work.resolve() / _room(context, workload, "study")


@dataclass
class Around:
    """What has come of the setups of a level."""

    failed: dict[str, str]
    """Workload → why it has no trials here."""
    commands: tuple[Command, ...] = ()
    """What was executed, as it is typed in the study."""


@contextlib.contextmanager
def around(context: Context, where: Place, workloads: Iterable[str]) -> Iterator[Around]:
    """Set up what the workloads ask for at this level; clean up afterwards, also after a failure.

    Raises:
        TrialsFailedError: if a cleanup fails; nothing else is begun on such a host.
    """
    found, owed = Around({}), []
    try:
        for name in workloads:
            workload = context.plan.workload(name)
            if (workload.program or {}).get(where.level):
                owed.append((workload, _owe(context, where, workload)))
                _set_up(context, where, workload, found)
                context.interrupt.check()
        yield found
    except BaseException:
        for reason in _clean_up(context, where, owed):
            context.observer.note(reason)
        raise
    for reason in _clean_up(context, where, owed):
        raise TrialsFailedError(
            f"{reason}. Nothing else was begun after that; the same command goes on"
        )


def _set_up(context: Context, where: Place, workload: PlannedWorkload, found: Around) -> None:
    """One setup; what it wrote is on the disk afterwards."""
    stream = _execute(context, where, workload, "setup")
    outcome, reason = stream.outcome
    asked = _commands(workload, where.level, "setup")
    done = zip(asked, stream.steps("setup"), strict=False)
    commands = (Command(argv=words, elapsed_s=one.elapsed_s) for words, one in done)
    found.commands += tuple(commands)
    if outcome != "done":
        found.failed[workload.spec.name] = f"{where.level}.{reason}"
    if where.up is not None and (stream.written_bytes or 0) > IDLE_BYTES:
        settle(Settling.before(None), where.up.place)


def _clean_up(
    context: Context, where: Place, owed: list[tuple[PlannedWorkload, Steps]]
) -> Iterator[str]:
    """Last one first; why one failed."""
    for workload, steps in reversed(owed):
        stream = _execute(context, where, workload, "cleanup")
        steps.undo()
        outcome, reason = stream.outcome
        if outcome != "done":
            name = " on ".join(filter(None, (workload.spec.name, where.system)))
            yield f"{name}: {where.level}.{reason}"


def _owe(context: Context, where: Place, workload: PlannedWorkload) -> Steps:
    """The cleanup is in the ledger, where the engine can be started without the system."""
    steps = Steps(context.ledger)
    if where.up is None or not where.up.engine:
        prefix = where.up.prefix if where.up else ()
        directory = where.target / _room(context, workload, where.level)
        owe = Owe(
            what=f"cleaned up what was set up in {directory}",
            argv=(*prefix, str(context.engine.path), "run"),
            back=f"# clean up what was set up in {directory}",
            stdin=_job(context, where, workload, "cleanup").message().decode(),
            directory=directory,
        )
        steps.take([owe])
    return steps


def _job(
    context: Context,
    where: Place,
    workload: PlannedWorkload,
    what: Literal["setup", "cleanup"],
) -> Job:
    part: Part = f"{where.level}_{what}"  # type: ignore[assignment]
    stage = Stage(part=part, room=_room(context, workload, where.level))
    if where.up is not None:
        return _job_on(
            context, workload, where.system, where.up, stage, ConditionsWanted(unpinned=True)
        )
    assert workload.program is not None
    return Job(
        workload=PROGRAM,
        parameters=study_table(workload.program),
        target=where.target,
        variables={STUDY_DIR: str(_study_dir(context, workload))},
        stage=stage,
        conditions=ConditionsWanted(unpinned=True),
    )


def _execute(
    context: Context,
    where: Place,
    workload: PlannedWorkload,
    what: Literal["setup", "cleanup"],
) -> Stream:
    """Have the engine execute a part to its end."""
    up = where.up
    is_last = what == "cleanup" and context.interrupt.received is not None
    trial = Trial(
        context.runner(up, workload.spec.use),
        _job(context, where, workload, what).message(),
        keep := io.BytesIO(),
        limit_s=_LAST_S if is_last else silence_s(workload),
        is_of_silence=not is_last,
        secret=up.variables.get(SECRET, "") if up else "",
    )
    stops = context.interrupt.stops(trial.stop)
    with contextlib.nullcontext() if is_last else stops:
        for _ in trial.lines():
            pass
    return stream_of(keep.getvalue())


def _commands(
    workload: PlannedWorkload, level: Level, what: Literal["setup", "cleanup"]
) -> list[tuple[str, ...]]:
    """As they are typed: one command, or a list of them."""
    table = (workload.program or {}).get(level)
    written: JsonValue = table.get(what, []) if isinstance(table, dict) else []
    assert isinstance(written, list)
    listed = [written] if written and isinstance(written[0], str) else written
    return [tuple(map(str, words)) for words in listed if isinstance(words, list)]
