"""What happened to the trials: failures, other processes, cache state, the engine's warnings."""

from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.analysis.model import Notice
from tiltyard.analysis.order import foreign_share, steal_share
from tiltyard.plan.model import Plan
from tiltyard.run.record import Prepared, RunRecord, TrialRecord
from tiltyard.wire import Usage

FOREIGN_SHARE: Final = 0.03
"""CPU time of other processes, as a share of one core, from which on a trial is disturbed."""
STEAL_SHARE: Final = 0.01
"""CPU time taken by the hypervisor, as a share of the trial's wall time."""
PREEMPTIONS_PER_S: Final = 100.0
"""Involuntary context switches per second from which on a trial did not have its CPU to itself."""


def disturbances(plan: Plan, run: RunRecord) -> Iterator[Notice]:
    """Notices on the trials of a run that count, the gravest first.

    What a plan has gates for is told by them: replaced blocks are not among these trials and have
    a section of their own, and blocks that count although they are spoiled are told once.
    """
    trials = run.trials
    yield from _failed(trials)
    yield from _boots(run.prepared)
    yield from _access(trials)
    if plan.clock == "time":
        yield from _of_time(plan, run)
    yield from _warned(trials)


def _of_time(plan: Plan, run: RunRecord) -> Iterator[Notice]:
    """What others did on the host: in times, and in nothing else."""
    done = [trial for trial in run.trials if trial.outcome == "done"]
    if plan.gates is None:
        yield from _foreign(done)
        yield from _steal(done)
    elif plan.gates.spoiled == "keep":
        yield from _spoiled(run)
    yield from _preempted(done)


def _failed(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    failed = [trial for trial in trials if trial.outcome == "failed"]
    if failed:
        key = failed[0].key
        reason = (failed[0].reason or "no reason given").rstrip(".")
        yield Notice(
            severity="problem",
            deviation=True,
            text=(
                f"{_trials(failed)} of {len(trials)} failed. The first: {key.workload} on "
                f"{key.system} in block {key.block}, {reason}."
            ),
            advice="The table of trials has every reason. A failed trial is never counted as slow.",
        )


def _boots(prepared: Sequence[Prepared]) -> Iterator[Notice]:
    """Boots that were made again: no trial of them counts, and all are told."""
    again = [(turn, why) for turn in prepared for why in turn.failed_boots]
    if again:
        turn, why = again[0]
        boots = "1 boot" if len(again) == 1 else f"{len(again)} boots"
        yield Notice(
            severity="warning",
            deviation=True,
            text=f"{boots} failed before a trial began, of {len(prepared) + len(again)}, and were "
            f"made again. The first: {turn.system} in block {turn.block}, {why}.",
            advice="The console's text in consoles/ has all that the guest said.",
        )


def _access(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    found = [(trial, trial.end.access) for trial in trials if trial.end and trial.end.access]
    contradicted = [trial for trial, access in found if access.verdict == "contradicted"]
    unverified = [trial for trial, access in found if access.verdict == "unverified"]
    if contradicted:
        yield Notice(
            severity="problem",
            deviation=True,
            text=f"{_trials(contradicted)} did not have the declared cache state, and count as "
            "failed.",
            advice="Choose a file that fits in memory for in-cache access, a larger one for "
            "out-of-cache access, or direct access.",
        )
    if unverified:
        yield Notice(
            severity="warning",
            deviation=True,
            text=f"In {_trials(unverified)} no counter could tell whether data came from the "
            "declared place.",
            advice="Use a target on a block device whose traffic the kernel counts.",
        )


def _spoiled(run: RunRecord) -> Iterator[Notice]:
    """Blocks beyond a limit that count all the same."""
    if run.spoiled:
        blocks = {trial.key.block for trial in run.trials}
        share = f"{len(run.spoiled)} of {len(blocks)} blocks"
        yield Notice(
            severity="warning",
            deviation=True,
            text=f"{share} are spoiled and count all the same, as the study wants it.",
            advice='Replace them: [noise] disturbed = "replace"; or stop what else runs on this '
            "host.",
        )


def _foreign(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    shares = [share for trial in trials if (share := foreign_share(trial)) is not None]
    disturbed = [share for share in shares if share > FOREIGN_SHARE]
    if disturbed:
        yield Notice(
            severity="warning",
            text=(
                f"In {len(disturbed)} of {len(shares)} trials other processes used more than "
                f"{_percent(FOREIGN_SHARE)} of a core, in the worst {_percent(max(disturbed))}."
            ),
            advice="All are kept. Stop what else runs on this host for narrower intervals.",
        )


def _steal(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    shares = [steal_share(trial) or 0.0 for trial in trials if trial.end]
    disturbed = [share for share in shares if share > STEAL_SHARE]
    if disturbed:
        yield Notice(
            severity="warning",
            text=(
                f"In {len(disturbed)} of {len(shares)} trials the hypervisor took more than "
                f"{_percent(STEAL_SHARE)} of the time for other guests, in the worst "
                f"{_percent(max(disturbed))}."
            ),
            advice="Use a machine of your own, or an instance with dedicated cores.",
        )


def _preempted(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    rates = [_per_second(trial, usage.involuntary_switches) for trial, usage in _usages(trials)]
    disturbed = [rate for rate in rates if rate > PREEMPTIONS_PER_S]
    if disturbed:
        yield Notice(
            severity="note",
            text=(
                f"In {len(disturbed)} of {len(rates)} trials the scheduler took the CPU away more "
                f"than {PREEMPTIONS_PER_S:.0f} times a second, in the worst "
                f"{max(disturbed):.0f} times."
            ),
            advice="Pin the study to CPUs that nothing else uses: conditions.cpus.",
        )


def _warned(trials: Sequence[TrialRecord]) -> Iterator[Notice]:
    """Each kind of warning once, with the number of trials that gave it."""
    by_code = {warning.code: warning for trial in trials for warning in trial.warnings}
    for code, warning in by_code.items():
        count = sum(any(own.code == code for own in trial.warnings) for trial in trials)
        message = warning.message.rstrip(".")
        yield Notice(
            severity="note",
            text=f"{message} ({count} of {len(trials)} trials).",
            advice=warning.advice,
        )


def _usages(trials: Sequence[TrialRecord]) -> list[tuple[TrialRecord, Usage]]:
    return [(trial, trial.end.usage) for trial in trials if trial.end]


def _per_second(trial: TrialRecord, amount: float) -> float:
    elapsed_s = trial.end.elapsed_s if trial.end else 0.0
    return amount / elapsed_s if elapsed_s > 0 else 0.0


def _trials(trials: Sequence[TrialRecord]) -> str:
    return "1 trial" if len(trials) == 1 else f"{len(trials)} trials"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
