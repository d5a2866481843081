"""One system's turn in a block: bring it up, let it meet its workloads, take it down."""

from tiltyard.errors import InterruptedRunError, TiltyardError, TrialsFailedError
from tiltyard.plan.model import TrialKey
from tiltyard.run.context import Context
from tiltyard.run.journal import SystemPrepared
from tiltyard.run.record import Prepared
from tiltyard.run.trial import fail_trial, run_trial
from tiltyard.systems.kind import System, Up


def run_turn(context: Context, system: System, keys: list[TrialKey]) -> None:
    """Run the trials of a turn; all are of one system and one block.

    A system that does not come up fails all its trials of the turn, with the reason, and the
    study goes on.

    Raises:
        InterruptedRunError: if a signal came; the system is down.
        TiltyardError: if the system cannot be taken down: nothing may run on such a host.
        TrialsFailedError: if a trial failed and the run is to stop at that.
    """
    name, block = keys[0].system, keys[0].block
    context.interrupt.check()
    context.observer.preparing(name)
    try:
        up = system.bring_up()
    except InterruptedRunError:
        raise
    except (TiltyardError, OSError) as error:
        for key in keys:
            fail_trial(context, key, f"{name} did not come up: {error}")
            _insist(context, key)
        return
    try:
        prepared = Prepared(system=name, block=block, commands=up.commands, facts=up.facts)
        context.journal.append(SystemPrepared(prepared=prepared))
        _run_trials(context, keys, up)
    finally:
        system.take_down()


def _run_trials(context: Context, keys: list[TrialKey], up: Up) -> None:
    """One after the other, in the order of the plan."""
    for key in keys:
        context.interrupt.check()
        run_trial(context, key, up)
        _insist(context, key)


def _insist(context: Context, key: TrialKey) -> None:
    """Stop at a failed trial, if that is wanted."""
    finished = context.history.finished[key]
    if context.stop_on_failure and finished.outcome != "done":
        raise TrialsFailedError(
            f"block {key.block}, {key.system}, {key.workload}: {finished.reason}; "
            f"tiltyard run {context.folder.root} goes on without it"
        )
