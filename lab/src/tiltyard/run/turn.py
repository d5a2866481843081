"""One system's turn in a block: bring it up, let it meet its workloads, take it down.

A workload may have several trials in a turn. They come in rounds, each in a process of its own,
and the system is refreshed before each trial of a later round: what the earlier ones left in its
caches is gone, what they left on the disk is not.
"""

import functools
from collections.abc import Mapping
from pathlib import Path

from tiltyard.errors import (
    BusyError,
    InterruptedRunError,
    TiltyardError,
    TrialsFailedError,
    UnreachableError,
)
from tiltyard.host.caches import drop_caches
from tiltyard.host.commands import Command
from tiltyard.host.record import RecordRequest, changes, take
from tiltyard.host.record.stack import DISK_UNDER_TEST, disks_below
from tiltyard.plan.model import TrialKey
from tiltyard.run.alternate import run_alternately
from tiltyard.run.binaries import binaries, changed_file
from tiltyard.run.context import Context
from tiltyard.run.journal import OtherHost, SystemPrepared
from tiltyard.run.record import Prepared
from tiltyard.run.retry import retry_while_busy
from tiltyard.run.runbook import recipe_of
from tiltyard.run.stages import Place, around, directory_of
from tiltyard.run.trial import fail_trial, run_trial
from tiltyard.systems.kind import System, Up
from tiltyard.units import listed


def facts_of(up: Up) -> dict[str, str]:
    """What the system says of itself, and which disk is under test, where there is one here."""
    where = up.devices[0] if up.devices else up.target
    if up.engine or not isinstance(where, str | Path):
        return up.facts
    # What nobody has brought up lies where it lay in its last turn.
    if isinstance(where, Path) and not up.commands:
        lies_on = _known_disks(where, where.stat().st_dev)
    else:
        lies_on = disks_below(where)
    return {**up.facts, DISK_UNDER_TEST: lies_on} if lies_on else up.facts


@functools.lru_cache(maxsize=64)
def _known_disks(directory: Path, _device: int) -> str:
    return disks_below(directory)


Missed = tuple[list[TrialKey], str]
"""Trials of a turn whose system did not come up, and why."""


def run_turn(
    context: Context,
    system: System,
    keys: list[TrialKey],
    boot: Mapping[str, str],
    missed: list[Missed],
    *,
    alternately: bool = False,
) -> None:
    """Run the trials of a turn, which are of one block.

    A system that cannot be refreshed fails the trials of the turn that are still to be run, with
    the reason, and the study goes on. So does one that does not come up, if another one of the
    block does.

    Args:
        context: what every step needs.
        system: whose turn it is.
        keys: the trials that are still to be run.
        boot: facts about the boot of this host that the turn began with, if it did.
        missed: turns of the block whose systems did not come up, and that are not written down
            yet; ours is added, or all are written down and taken out.
        alternately: the turn is that of several systems for which this one stands.

    Raises:
        BusyError: if others had what the system needs for longer than the run waits.
        InterruptedRunError: if a signal came; the system is down.
        TiltyardError: if the system cannot be taken down: nothing may run on such a host. Another
            host that is not reached is told, and what is left there stays recorded.
        TrialsFailedError: if a trial failed and the run is to stop at that.
    """
    block, owners = keys[0].block, list(dict.fromkeys(key.system for key in keys))
    name = listed(owners)
    context.interrupt.check()
    context.observer.preparing(name)
    try:
        boot = {**boot, **retry_while_busy(context, name, system.boot)}
        up = retry_while_busy(context, name, system.bring_up)
    except (InterruptedRunError, BusyError):
        raise
    except (TiltyardError, OSError) as error:
        missed.append((keys, f"{name} did not come up: {error}"))
        if context.stop_on_failure or _came_up(context, block):
            _write_down(context, missed)
        return
    try:
        with around(
            context, Place("turn", directory_of(context, up), name, up), _workloads(keys)
        ) as found:
            own = {owner: [key for key in keys if key.system == owner] for owner in owners}
            changed = {
                owner: _begin(context, its, boot, up, found.commands) for owner, its in own.items()
            }
            _write_down(context, missed)
            _record_other_host(context, up, has_booted=bool(boot))
            left = list[TrialKey]()
            for key in keys:
                if reason := changed[key.system] or found.failed.get(key.workload):
                    _fail(context, [key], reason)
                else:
                    left.append(key)
            if alternately:
                _alternate(context, left, up)
            else:
                _run_trials(context, system, left, up)
    finally:
        context.leave()
        _take_down(context, name, system)


def _begin(
    context: Context,
    keys: list[TrialKey],
    boot: Mapping[str, str],
    up: Up,
    commands: tuple[Command, ...],
) -> str | None:
    """Write down how the system came up; why its programs are not those of the run, if so."""
    name, block = keys[0].system, keys[0].block
    programs = {} if up.engine else binaries(context.plan, name, context.programs_from)
    prepared = Prepared(
        system=name,
        block=block,
        commands=(*up.commands, *commands),
        facts={**facts_of(up), **boot, **_caches(context, name), **programs},
        failed_boots=up.failed_boots,
        recipe=recipe_of(context, keys, up) if _tells_recipe(context, keys) else None,
    )
    changed = changed_file(context.history.first_hashes, prepared.hashes)
    waits = not up.commands and all(context.is_brief(workload) for workload in _workloads(keys))
    context.journal.append(SystemPrepared(prepared=prepared), waits=waits)
    return changed


def _workloads(keys: list[TrialKey]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(key.workload for key in keys))


def _tells_recipe(context: Context, keys: list[TrialKey]) -> bool:
    """In the first turn of a system, and in the first one whose jobs have their executions."""
    was_up = any(prepared.system == keys[0].system for prepared in context.history.prepared)
    return not was_up or not context.tried.keys().isdisjoint(_workloads(keys))


def _came_up(context: Context, block: int) -> bool:
    """Whether a system did in a block, in this start of the run or in an earlier one."""
    prepared = context.history.prepared
    return bool(prepared) and prepared[-1].block == block


def _write_down(context: Context, missed: list[Missed]) -> None:
    """Turns that were missed because of their systems: others do come up."""
    while missed:
        _fail(context, *missed.pop(0))


def _take_down(context: Context, name: str, system: System) -> None:
    """A host that is not reached any more cannot disturb this one; what is left there is said."""
    try:
        system.take_down()
    except UnreachableError as error:
        context.observer.note(f"{name}: {error}; that is tried again, also by tiltyard restore")


def _record_other_host(context: Context, up: Up, *, has_booted: bool) -> None:
    """Take the record of a host that this start meets first, or that has booted.

    It must not fail a turn.
    """
    other, history = up.far if up.far.is_remote else up.place, context.history
    name = str(other)
    if not other.is_remote or (name in history.met and not has_booted):
        return
    try:
        record = take(RecordRequest(), other)
    except TiltyardError as error:
        context.observer.note(f"{name}: no system record: {error}")
        return
    found = changes(history.latest_of_others.get(name, record), record)
    for change in found:
        context.observer.note(f"{name} has changed: {change}")
    if found or name not in history.met:
        context.journal.append(OtherHost(name=name, record=record))


def _run_trials(context: Context, system: System, keys: list[TrialKey], up: Up) -> None:
    """One after the other, in the order of the plan."""
    for place, key in enumerate(keys):
        context.interrupt.check()
        if place > 0 and key.repeat > 1:
            if not up.place.is_remote:
                context.leave()
            try:
                system.refresh()
            except InterruptedRunError:
                raise
            except (TiltyardError, OSError) as error:
                _fail(context, keys[place:], f"{key.system} could not be refreshed: {error}")
                return
        if _caches(context, key.system):
            try:
                drop_caches(up.place)
            except (TiltyardError, OSError) as error:
                _fail(context, keys[place:], str(error))
                return
        try:
            run_trial(context, key, up)
        except InterruptedRunError:
            raise
        except TiltyardError as error:
            # What is looked at there failed, or the host is not reached.
            if not up.place.is_remote:
                raise
            fail_trial(context, key, str(error))
        _stop_at_failure(context, key)


def _alternate(context: Context, keys: list[TrialKey], up: Up) -> None:
    """One workload after the other; its executions go round the systems."""
    for workload in _workloads(keys):
        context.interrupt.check()
        own = [key for key in keys if key.workload == workload]
        run_alternately(context, own, up)
        for key in own:
            _stop_at_failure(context, key)


def _caches(context: Context, name: str) -> dict[str, str]:
    """The fact that a system's trials begin without what the host held in memory, if so."""
    if not context.plan.system(name).settings.get("drop_caches"):
        return {}
    return {"caches of the host": "dropped before each trial"}


def _fail(context: Context, keys: list[TrialKey], reason: str) -> None:
    """Write down trials that could not be run.

    Raises:
        TrialsFailedError: if the run is to stop at a failed trial.
    """
    for key in keys:
        fail_trial(context, key, reason)
        _stop_at_failure(context, key)


def _stop_at_failure(context: Context, key: TrialKey) -> None:
    """Stop at a failed trial, if that is wanted."""
    finished = context.history.finished.get(key)
    if context.stop_on_failure and finished and finished.outcome != "done":
        raise TrialsFailedError(
            f"block {key.block}, {key.system}, {key.workload}: {finished.reason}; "
            f"tiltyard run {context.folder.root} goes on without it"
        )
