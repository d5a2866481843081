"""How often a program is executed in each trial, where the study leaves it open.

A trial that goes on until its executions have taken so long has the more of them the shorter they
are: its mean is too high wherever they vary, and by how much differs between systems. So the
number is found before the first block, in a turn of each system whose values nobody sees, and is
the same in all trials of all systems then.

Source: the bias is that of a renewal process that is stopped after a time (length-biased sampling;
D. R. Cox, "Renewal Theory", 1962).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean, variance
from typing import Final, NamedTuple

from tiltyard.errors import BusyError, InterruptedRunError, TiltyardError
from tiltyard.folder import partial_beside
from tiltyard.plan.model import PlannedWorkload, TrialKey
from tiltyard.plan.program import is_open
from tiltyard.run.boot import booted
from tiltyard.run.context import Context
from tiltyard.run.journal import ExecutionsSet, SystemPrepared
from tiltyard.run.patience import patiently
from tiltyard.run.record import Prepared
from tiltyard.run.runbook import recipe_of
from tiltyard.run.stages import Place, around, directory_of
from tiltyard.run.stream import file_of
from tiltyard.run.trial import execute_trial
from tiltyard.run.turn import prepared_of, take_down
from tiltyard.systems.kind import System, Up

FAR_APART: Final = 10
"""Where systems are so many times apart, or scatter much, the slowest one decides: its trials take
no longer than so many times what is asked for."""
BIAS: Final = 0.005
"""By how much the logarithm of a trial's mean may lie below that of the mean, on average."""
_MOST_TRIED: Final = 30


class Tried(NamedTuple):
    """What a system tells of its executions before the first block."""

    enough: int
    """So many took what is asked for."""
    times_s: tuple[float, ...]
    """Of as many as were executed."""

    @property
    def mean_s(self) -> float:
        """Their mean."""
        return fmean(self.times_s)

    @property
    def needs(self) -> int:
        """How many a trial takes.

        The logarithm of a mean of n values lies below that of their expectation, by half of their
        squared coefficient of variation over n (delta method): systems that scatter more would be
        called faster.
        """
        if len(self.times_s) < 2 or not self.mean_s:
            return self.enough
        squared = variance(self.times_s) / self.mean_s**2
        return max(self.enough, ceil(squared / (2 * BIAS)))


def executions_for(tried: Sequence[Tried], at_least_s: float, least: int = 1) -> int:
    """How often each trial of each system executes its program.

    Args:
        tried: a trial of each system that was tried; none: the least.
        at_least_s: what the executions of a trial take together, at least.
        least: the number that the study asks for at least.

    Returns:
        The largest number that a system needs, within ten times that time on the slowest one.
    """
    if not tried:
        return least
    number, slowest_s = max(one.needs for one in tried), max(one.mean_s for one in tried)
    if number * slowest_s > FAR_APART * at_least_s:
        number = int(FAR_APART * at_least_s / slowest_s)
    return max(least, number)


def further(first_s: Sequence[float], at_least_s: float) -> int:
    """How many executions are tried after those that took long enough; 0: none.

    Args:
        first_s: the times of these.
        at_least_s: what they take together, at least.
    """
    mean_s = fmean(first_s)
    most = int(FAR_APART * at_least_s / mean_s) if mean_s else 0
    return max(0, min(most, _MOST_TRIED) - len(first_s))


def set_executions(context: Context, systems: Mapping[str, System]) -> None:
    """Find and write down the numbers; a run that goes on keeps those that it began with.

    A system that does not come up, or whose host is booted for each turn, is not tried, and a
    failure is the first block's to tell. Where one execution alone decides the number, the systems
    after it are not tried.

    Raises:
        BusyError: if others had what a system needs for longer than the run waits.
        InterruptedRunError: if a signal came; nothing is written down.
        TiltyardError: if a system cannot be taken down.
    """
    plan, history = context.plan, context.history
    if history.finished:
        return
    asked = {
        one.spec.name: _asked_of(one)
        for one in plan.workloads
        if one.program and is_open(one.program) and one.spec.name not in history.executions
    }
    tried: dict[str, list[Tried]] = {name: [] for name in asked}
    turns: list[_Turn] = []
    left = dict.fromkeys(asked)
    for spec in plan.systems:
        if not left or booted(spec):
            continue
        wanted = {name: asked[name][0] for name in left}
        turn = _turn_of(context, systems[spec.name], spec.name, wanted)
        turns += filter(None, [turn])
        for name, found in turn.tried.items() if turn else ():
            tried[name].append(found)
            if found.mean_s >= FAR_APART * asked[name][0]:
                del left[name]
    if asked:
        numbers = {name: executions_for(tried[name], *asked[name]) for name in asked}
        context.journal.append(ExecutionsSet(executions=numbers))
    for turn in turns:
        # Only now the jobs of a runbook have the number.
        update = {"recipe": recipe_of(context, turn.keys, turn.up)}
        prepared = turn.prepared.model_copy(update=update)
        context.journal.append(SystemPrepared(prepared=prepared))


def _asked_of(workload: PlannedWorkload) -> tuple[float, int]:
    """Seconds and executions of each trial, at least."""
    at_least_s, least = (workload.effective[name] for name in ("at_least", "executions"))
    assert isinstance(at_least_s, int | float)
    assert isinstance(least, int)
    return at_least_s, least


@dataclass(frozen=True)
class _Turn:
    """A turn whose trials are not kept: the first one, in which what lasts was made."""

    up: Up
    keys: list[TrialKey]
    """Of all workloads."""
    prepared: Prepared
    tried: dict[str, Tried]
    """Of each workload that works."""


def _turn_of(
    context: Context, system: System, name: str, wanted: Mapping[str, float]
) -> _Turn | None:
    """The turn of a system; ``None`` where it does not come up.

    Args:
        context: what every step needs.
        system: whose turn it is.
        name: of the system.
        wanted: workload → seconds that the executions of a trial take at least.
    """
    context.interrupt.check()
    context.observer.preparing(name)
    try:
        up = patiently(context, name, system.bring_up)
    except (InterruptedRunError, BusyError):
        raise
    except (TiltyardError, OSError):
        return None
    keys = [TrialKey(block=0, system=name, workload=one) for one in context.plan.titles]
    try:
        place = Place("turn", directory_of(context, up), name, up)
        with around(context, place, wanted) as stages:
            prepared = prepared_of(context, keys, {}, up, stages.commands)
            tried = {
                workload: Tried(len(first_s), tuple(first_s + more_s))
                for workload, at_least_s in wanted.items()
                if workload not in stages.failed
                and (first_s := _times_s(context, name, up, workload))
                for number in [further(first_s, at_least_s)]
                for more_s in [_times_s(context, name, up, workload, number) if number else []]
            }
            return _Turn(up, keys, prepared, tried)
    finally:
        context.leave()
        take_down(context, name, system)


def _times_s(
    context: Context, system: str, up: Up, workload: str, executions: int | None = None
) -> list[float]:
    """Of the executions of one trial, which is not kept; none of one that failed."""
    key = TrialKey(block=0, system=system, workload=workload)
    partial = partial_beside(context.folder.root / file_of(key))
    partial.parent.mkdir(exist_ok=True)
    try:
        ended = execute_trial(context, key, up, partial, sync=False, executions=executions)
    finally:
        partial.unlink(missing_ok=True)
    context.interrupt.check()
    done = ended.stream.executions if ended.outcome == "done" else []
    return [one.elapsed_s for one in done]
