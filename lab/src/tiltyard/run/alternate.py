"""Executions of systems that take turns within a block.

What the host does in the meantime then falls on all systems alike, and not on the one whose turn it
was. Each system has a trial and a runner of its own; all trials begin, and of each round of
executions every system has one, in an order drawn for that round.

That can be done where systems differ in nothing but their programs, so that one that is up serves
all, and where nothing is done once around the executions of a trial that others would undo.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from tiltyard.executors.barrier import Turns, hear_together
from tiltyard.executors.runner import Trial
from tiltyard.ownership import make_directory
from tiltyard.plan.model import Plan, PlannedWorkload, TrialKey
from tiltyard.plan.program import is_open
from tiltyard.run.context import Context
from tiltyard.run.same_output import is_compared
from tiltyard.run.settle import settle
from tiltyard.run.trial import (
    begin_trial,
    ended_of,
    flaw_of,
    follow,
    is_watched,
    job_of,
    keep_trial,
    limit_of,
    measuring,
    settling,
    watching,
)
from tiltyard.study.kinds import HOST
from tiltyard.study.program import SECRET
from tiltyard.systems.kind import Up
from tiltyard.wire import Hello

_ONCE_A_TRIAL: Final = ("setup", "cleanup", "turn", "servers")
"""Parameters of what is executed once around all executions of a trial: of two systems at the same
time they could undo each other."""
_DIRECTORY: Final = "directory"
_FOR_ONE: Final = ("drop_caches", "service", "reset")
"""Settings of a system that are for one trial, for one that has it to itself, or for one turn."""


def alternates(context: Context, keys: Sequence[TrialKey]) -> list[TrialKey]:
    """Those trials of a block whose executions alternate, in the order of its first turn."""
    plan, systems = context.plan, {key.system for key in keys}
    if len(systems) < 2 or not shares_a_place(plan):
        return []
    names = dict.fromkeys(key.workload for key in keys)
    able = [name for name in names if executions_in(context, plan.workload(name)) > 1]
    return [
        key
        for name in able
        if len(own := [key for key in keys if key.workload == name]) == len(systems)
        for key in own
    ]


def shares_a_place(plan: Plan) -> bool:
    """Whether systems differ in nothing but what their programs are told, on this host."""
    first = plan.systems[0]
    alike = all(one.kind == first.kind and one.settings == first.settings for one in plan.systems)
    is_plain = first.kind in (HOST, _DIRECTORY) and not any(map(first.settings.get, _FOR_ONE))
    # Beside spinners only an engine knows what others took, and the other one is such another.
    return alike and is_plain and not (plan.placement or plan.conditions.keep_awake)


def executions_in(context: Context, workload: PlannedWorkload) -> int:
    """How many executions of a workload alternate; 0: none, or that is not known yet."""
    program, spec = workload.program, workload.spec
    if program is None or spec.clients or not spec.alternate or workload.trials > 1:
        return 0
    if any(map(program.get, _ONCE_A_TRIAL)):
        return 0
    # The first trial of all says what the others are to print.
    has_first = spec.name in context.history.longest_done_s
    if is_compared(program) and not has_first:
        return 0
    if number := context.history.executions.get(spec.name):
        return number
    asked = workload.effective.get("executions")
    return 0 if is_open(program) or not isinstance(asked, int) else asked


def order_of(plan: Plan, block: int, workload: str, systems: int, executions: int) -> list[int]:
    """Places of systems, shape (1 + executions, systems) in a row: first each begins.

    Args:
        plan: has the seed.
        block: its number.
        workload: its name.
        systems: how many take turns.
        executions: of each.
    """
    which = [one.spec.name for one in plan.workloads].index(workload)
    random = np.random.default_rng((plan.seed, block, which))
    rounds = [list(range(systems))]
    rounds += [random.permutation(systems).tolist() for _ in range(executions)]
    return [place for own in rounds for place in own]


def run_alternately(context: Context, keys: Sequence[TrialKey], up: Up) -> None:
    """Run trials of one workload, one a system; afterwards all are on disk and in the journal.

    One that fails does not keep the others from going on.

    Raises:
        InterruptedRunError: if a signal came; nothing is kept of any.
    """
    workload = keys[0].workload
    is_brief = context.is_brief(workload)
    settled = settle(settling(context, workload, up), up.place)
    begun = [begin_trial(context, key, waits=is_brief) for key in keys]
    keeps = [io.BytesIO() for _ in keys]
    with watching(context, up, brief=is_brief) as telemetry_of:
        turns, trials, hello = _execute(context, keys, up, keeps)
        telemetry = telemetry_of(measuring(up, hello))
    context.interrupt.check()
    limit = limit_of(context.history, context.plan, workload)
    for place, (key, trial) in enumerate(zip(keys, trials, strict=True)):
        ended = ended_of(
            context,
            key,
            keeps[place].getvalue(),
            up,
            partial(flaw_of, trial, up=up, limit=limit),
            elapsed_s=turns.held_s[place],
            telemetry=telemetry,
        )
        keep_trial(context, key, begun[place], ended, settled, waits=is_brief, alternated=True)


def _execute(
    context: Context, keys: Sequence[TrialKey], up: Up, keeps: Sequence[BinaryIO]
) -> tuple[Turns, list[Trial], Hello | None]:
    """Carry all out; a thread hears each, and only one of them has its turn."""
    workload = context.plan.workload(keys[0].workload)
    number = executions_in(context, workload)
    turns = Turns(order_of(context.plan, keys[0].block, keys[0].workload, len(keys), number))
    limit = limit_of(context.history, context.plan, keys[0].workload)
    trials: dict[int, Trial] = {}
    hellos: dict[int, Hello | None] = {}
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        for trial in list(trials.values()):
            trial.stop()

    def hear(place: int) -> None:
        try:
            if turns.take(place, lambda: not stopped):
                trial = trials[place] = Trial(
                    runners[place],
                    jobs[place],
                    keeps[place],
                    limit_s=limit.seconds * len(keys),
                    is_of_silence=limit.is_of_silence,
                    secret=up.variables.get(SECRET, ""),
                    held_by=turns.of(place),
                )
                # Calls of the display come from one thread.
                show = context.observer.progress if place == 0 else _unseen
                hellos[place] = follow(trial, show)
        finally:
            turns.leave(place)

    runners = [context.runner(up, place=place) for place in range(len(keys))]
    jobs = [
        job_of(context, key, at, watched=is_watched(context, key, up)).message()
        for key, at in zip(keys, _places(up, len(keys)), strict=True)
    ]
    with context.interrupt.stops(stop):
        hear_together(hear, len(keys), stop)
    context.interrupt.check()
    return turns, [trials[place] for place in range(len(keys))], hellos.get(0)


def _places(up: Up, systems: int) -> Iterator[Up]:
    """The system with a directory for each, whose paths are equally long."""
    assert isinstance(up.target, Path)
    width = len(str(systems))
    for place in range(1, systems + 1):
        target = up.target / f"{place:0{width}}"
        make_directory(target, exist_ok=True)
        yield replace(up, target=target)


def _unseen(done: float, what: str) -> None:
    """Nobody is shown how far a trial is."""
