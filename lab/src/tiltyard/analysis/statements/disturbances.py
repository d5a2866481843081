"""Warnings on the trials: failures, other processes, cache state, warnings of the engine."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.disturbed import on_each
from tiltyard.analysis.judging import FARTHEST, judge
from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.order import foreign_share, steal_share
from tiltyard.analysis.quantity import Quantity
from tiltyard.analysis.statements.evidence import Evidence
from tiltyard.analysis.statements.notices import note, problem, warning
from tiltyard.analysis.statements.numbers import compatible, confidence, percent_text
from tiltyard.analysis.statements.statement import statement
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.multiple import holm
from tiltyard.stats.sequential import LEVEL
from tiltyard.units import agreeing, count_of, format_duration, listed

FOREIGN_SHARE: Final = 0.03
"""CPU time of other processes, as a share of one core, from which on a trial is disturbed."""
STEAL_SHARE: Final = 0.01
"""CPU time taken by the hypervisor, as a share of the trial's wall time."""
PREEMPTIONS_PER_S: Final = 100.0
"""Involuntary context switches per second from which on a trial did not have its CPU to itself."""
_OF_FIGURES: Final = frozenset({"mostly_shell", "not_steady", "rate-not-kept"})
"""Warnings of the engine after which a figure is not of what was asked for."""


@statement("notice", "N trials of M failed, N of N on SYSTEM. The first: …")
def _failed(evidence: Evidence) -> Iterator[Notice]:
    """Trials failed that count."""
    trials = evidence.run.trials
    failed = [trial for trial in trials if trial.outcome == "failed"]
    if failed:
        key = failed[0].key
        reason = (failed[0].reason or "no reason given").rstrip(".")
        yield problem(
            deviation=True,
            text=f"{count_of(len(failed), 'trial')} of {len(trials)} failed, "
            f"{on_each(Counter(trial.key.system for trial in failed))}. The first: "
            f"{key.workload} on {key.system} in block {key.block}, {reason}.",
            advice="The table of trials has every reason. A failed trial is never counted as slow.",
        )


@statement("notice", "If failed blocks counted as the worst of their system: …")
def _worst(evidence: Evidence) -> Iterator[Notice]:
    """A system failed in blocks in which another one did not: what the verdicts would become.

    Those that fail may be the slow ones. Ranks bound what they would do: each such block is the
    farthest of all against the system that failed.
    """
    indices = [own.index for own in evidence.judged]
    if evidence.withheld or any(one.quantity.sessions is not None for one in indices):
        return
    systems = [system.name for system in evidence.plan.systems]
    worst = judge(
        [_failed_as_worst(one.quantity) for one in indices],
        systems,
        evidence.plan.design,
        holm,
        LEVEL,
        together=True,
        to_come=0,
        baseline=evidence.plan.baseline,
    )
    lines = [
        _with_worst(contrast, other)
        for one, same in zip(indices, worst, strict=True)
        for contrast, other in zip(one.contrasts, same.contrasts, strict=True)
        if contrast.interval and len(other.differences) > len(contrast.differences)
    ]
    if lines:
        changed = [text for text, verdict_changes in lines if verdict_changes]
        yield (problem if changed else note)(
            text=f"If failed blocks counted as the worst of their system: "
            f"{'; '.join(changed or [text for text, _ in lines])}.",
            advice="Find out why they failed before the verdicts are used: what is slow may fail.",
        )


def _failed_as_worst(quantity: Quantity) -> Quantity:
    """The same with the farthest value where a trial failed that another system's did not."""
    values = quantity.log_values
    missing = quantity.attempted & ~np.isfinite(values)
    some = np.isfinite(values).any(axis=1, keepdims=True)
    sign = -1 if quantity.direction == "higher" else 1
    return replace(quantity, log_values=np.where(missing & some, 2 * sign * FARTHEST, values))


def _with_worst(contrast: Contrast, worst: Contrast) -> tuple[str, bool]:
    """One comparison with failed blocks in it, and whether its verdict is another."""
    head = f"{contrast.system} against {contrast.against} in {contrast.quantity.topic} "
    found = worst.interval
    if found is None:
        return f"{head}{worst.verdict}", worst.verdict != contrast.verdict
    # Half of the farthest is the mean of such a block and of another.
    if max(-found.low, found.high) < FARTHEST / 3:
        ends = compatible(math.exp(found.low), math.exp(found.high), worst.verdict)
    else:
        low, high = found.low, math.exp(found.high) if found.high < FARTHEST / 3 else math.inf
        ends = f"{math.exp(low):.2f}× to {'any' if high == math.inf else f'{high:.2f}×'}"
    basis = f"{confidence(found.level)} {ends}, {count_of(found.blocks, 'block')}"
    text = f"{head}{worst.verdict} ({basis})"
    return text, worst.verdict != contrast.verdict


@statement("notice", "N boots failed before a trial began, and were repeated.")
def failed_boots(evidence: Evidence) -> Iterator[Notice]:
    """A virtual machine did not boot at once; no trial of a failed boot counts."""
    prepared = evidence.run.prepared
    repeated = [(turn, why) for turn in prepared for why in turn.failed_boots]
    if repeated:
        turn, why = repeated[0]
        boots = count_of(len(repeated), "boot")
        yield warning(
            deviation=True,
            text=f"{boots} failed before a trial began, of {len(prepared) + len(repeated)}, and "
            f"were repeated. The first: {turn.system} in block {turn.block}, {why}.",
            advice="consoles/ has the complete output of the guest's console.",
        )


@statement("notice", "N trials did not have the declared cache state.")
def _access(evidence: Evidence) -> Iterator[Notice]:
    """Counters contradict the declared cache state, or none could verify it."""
    found = [(t, t.end.access) for t in evidence.run.trials if t.end and t.end.access]
    contradicted = [trial for trial, access in found if access.verdict == "contradicted"]
    unverified = [trial for trial, access in found if access.verdict == "unverified"]
    if contradicted:
        yield problem(
            deviation=True,
            text=f"{count_of(len(contradicted), 'trial')} did not have the declared cache state, "
            "and count as failed.",
            advice="Choose a file that fits in memory for in-cache access, a larger one for "
            "out-of-cache access, or direct access.",
        )
    if unverified:
        yield warning(
            deviation=True,
            text=f"In {count_of(len(unverified), 'trial')} no counter could verify the declared "
            "cache state.",
            advice="Use a target on a block device whose traffic the kernel counts.",
        )


@statement("notice", "N of M trials: other processes used more than 3 % of a core.")
def _foreign(evidence: Evidence) -> Iterator[Notice]:
    """A plan of times without noise limits, and CPU time of other processes above 3 % of a core."""
    if evidence.plan.clock != "time" or evidence.plan.noise_limits is not None:
        return
    shares = [share for trial in _done(evidence) if (share := foreign_share(trial)) is not None]
    disturbed = [share for share in shares if share > FOREIGN_SHARE]
    if disturbed:
        yield warning(
            text=f"In {len(disturbed)} of {count_of(len(shares), 'trial')} other processes used "
            "more than "
            f"{percent_text(FOREIGN_SHARE)} of a core, in the worst "
            f"{percent_text(max(disturbed))}.",
            advice=f"All are kept. Stop other work on {evidence.plan.where} for narrower "
            "intervals.",
        )


@statement("notice", "N of M trials: the hypervisor took more than 1 % of the time.")
def _steal(evidence: Evidence) -> Iterator[Notice]:
    """A plan of times without noise limits, and time taken by the hypervisor above 1 %."""
    if evidence.plan.clock != "time" or evidence.plan.noise_limits is not None:
        return
    shares = [steal_share(trial) or 0.0 for trial in _done(evidence) if trial.end]
    disturbed = [share for share in shares if share > STEAL_SHARE]
    if disturbed:
        yield warning(
            text=f"In {len(disturbed)} of {count_of(len(shares), 'trial')} the hypervisor took "
            "more than "
            f"{percent_text(STEAL_SHARE)} of the time for other guests, in the worst "
            f"{percent_text(max(disturbed))}.",
            advice="Use a physical machine, or an instance with dedicated cores.",
        )


def under_load(run: RunRecord) -> str:
    """How many of the blocks that count were disturbed, in words; empty if none was.

    Args:
        run: without replaced blocks.
    """
    blocks = {trial.key.block for trial in run.trials}
    disturbed = len(blocks & run.disturbed.keys())
    if not disturbed:
        return ""
    count = f"{disturbed} of the {count_of(len(blocks), 'block')} that count"
    if disturbed == len(blocks) > 1:
        count = f"all {count_of(disturbed, 'block')} that count"
    by = "a quota of CPU time" if _is_by_quota(run) else "other activity on the host"
    return f"{count} {agreeing(disturbed, 'was', 'were')} disturbed by {by}"


def _is_by_quota(run: RunRecord) -> bool:
    """Whether nothing else has disturbed the blocks that count."""
    blocks = {trial.key.block for trial in run.trials} & run.disturbed.keys()
    return {reason.signal for block in blocks for reason in run.disturbed[block]} == {"quota"}


@statement("notice", "Under load: N of the M blocks that count were disturbed.")
def _disturbed(evidence: Evidence) -> Iterator[Notice]:
    """Blocks that count exceed a noise limit."""
    found = under_load(evidence.run) if evidence.plan.clock == "time" else ""
    if found:
        yield warning(
            deviation=True,
            above=True,
            text=f"Under load: {found}. The verdicts hold for a host that is as busy.",
            advice=f"{_remedy(evidence)} and run the study in a new folder; "
            'with --disturbed replace ([noise] disturbed = "replace" in a study) such blocks are '
            "repeated.",
        )


def _remedy(evidence: Evidence) -> str:
    by_quota = _is_by_quota(evidence.run)
    return _LIFT if by_quota else f"Stop other work on {evidence.plan.where}"


_LIFT: Final = "Lift the quota of the control group (of a container, its CPU limit)"


@statement(
    "notice", "The programs of this study may use X of N CPUs; that was used up in N of M trials."
)
def _quota(evidence: Evidence) -> Iterator[Notice]:
    """A host has a quota of CPU time."""
    seen = [trial.telemetry for trial in _done(evidence) if trial.telemetry]
    for host, quota in evidence.run.quotas.items():
        here = [one for each in seen for one in (each, *each.others) if one.host == host]
        known = [one for one in here if one.quota_throttled is not None]
        reached = [one for one in known if one.quota_throttled]
        if not here or not (quota or reached):
            continue
        kept_s = sum(one.quota_throttled_s or 0.0 for one in reached)
        trials = f"of {count_of(len(here), 'trial')}"
        fate = "Whether a trial used that up is not known." if not known else "No trial used it up."
        if reached:
            fate = (
                f"It was used up in {len(reached)} {trials}, which waited {format_duration(kept_s)}"
                " for it (the sum over CPUs)"
            )
            every = ": the verdicts are those of this quota." if len(reached) == len(here) else "."
            fate = f"{fate}{every}"
        yield (warning if reached else note)(
            text=f"The programs of this study may use {quota or 'a part of the CPUs'}"
            f"{f' on {host}' if host else ''}: their control group has a quota. {fate}",
            advice=f"{_LIFT}, or report it with the result.",
        )


@statement(
    "notice",
    "The budget was changed after the run had begun: TIME of wall time for all blocks "
    "(planned: TIME).",
)
def _longer(evidence: Evidence) -> Iterator[Notice]:
    """Another budget was given after the run had begun."""
    budget_s, planned_s = evidence.run.amended.budget_s, evidence.plan.budget_s
    if budget_s is not None and budget_s != planned_s:
        planned = "none" if planned_s is None else format_duration(planned_s)
        yield Notice(
            severity="note",
            deviation=True,
            text=f"The budget was changed after the run had begun: {format_duration(budget_s)} of "
            f"wall time for all blocks (planned: {planned}). Looks and error rates are as planned.",
        )


@statement("notice", "N of M trials: the scheduler preempted them more than 100 times a second.")
def _preempted(evidence: Evidence) -> Iterator[Notice]:
    """A plan of times, and more than 100 involuntary context switches per second."""
    ends = [trial.end for trial in _done(evidence) if trial.end]
    rates = [
        end.usage.involuntary_switches / end.elapsed_s if end.elapsed_s > 0 else 0.0 for end in ends
    ]
    disturbed = [rate for rate in rates if rate > PREEMPTIONS_PER_S]
    if disturbed and evidence.plan.clock == "time":
        yield note(
            text=f"In {len(disturbed)} of {count_of(len(rates), 'trial')} the scheduler took the "
            "CPU away more "
            f"than {PREEMPTIONS_PER_S:.0f} times a second, in the worst {max(disturbed):.0f} "
            "times.",
            advice="Pin the study to CPUs that nothing else uses: conditions.cpus.",
        )


@statement("notice", "WARNING OF THE ENGINE (N of M trials, the last WORKLOAD on SYSTEM).")
def _warned(evidence: Evidence) -> Iterator[Notice]:
    """The engine warned; each kind once, as the last of so many trials gave it."""
    trials, titles = evidence.run.trials, evidence.plan.titles
    last = {warned.code: (trial.key, warned) for trial in trials for warned in trial.warnings}
    for code, (key, warned) in last.items():
        count = sum(any(own.code == code for own in trial.warnings) for trial in trials)
        severe = warning if code in _OF_FIGURES else note
        yield severe(
            text=f"{_sentence(warned.message)} ({count} of {count_of(len(trials), 'trial')}, the "
            f"last {titles[key.workload]} on {key.system}).",
            advice=warned.advice and f"{_sentence(warned.advice)}.",
        )


def _sentence(words: str) -> str:
    """With a capital, and no full stop yet."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}"


@statement("notice", "WORKLOAD on SYSTEM: client N had X % of what the median client had.")
def _straggled(evidence: Evidence) -> Iterator[Notice]:
    """A client of several had less than 0.8 of the median client's rate in half of the trials."""
    for workload in evidence.workloads:
        told = [
            f"client {line.client} on {line.system} {percent_text(line.of_median)}"
            for line in workload.clients
            if 2 * line.straggled >= line.trials
        ]
        if told:
            yield warning(
                text=f"{workload.display} has stragglers. Of the rate of the median client had: "
                f"{', '.join(told)}.",
                advice="The sum of all clients hides them: look at the table of clients, and at "
                "the path of each to the target.",
            )


@statement("notice", "The clients began within N ms of each other.")
def _skew(evidence: Evidence) -> Iterator[Notice]:
    """A workload has several clients."""
    for workload in evidence.workloads:
        if workload.clients:
            last_s = max(line.began_s for line in workload.clients)
            apart_s = max(line.uncertainty_s for line in workload.clients)
            yield note(
                text=f"{workload.display}: the clients began within {1e3 * last_s:.1f} ms of each "
                f"other in the typical trial; their clocks were compared to within "
                f"{1e3 * apart_s:.2f} ms."
            )


OF_THE_TRIALS: Final = (
    _failed,
    _worst,
    failed_boots,
    _straggled,
    _skew,
    _access,
    _foreign,
    _steal,
    _disturbed,
    _quota,
    _longer,
    _preempted,
    _warned,
)
"""The gravest first. Blocks that noise limits replaced are not among these trials: a section of
their own reports them."""


def _done(evidence: Evidence) -> list[TrialRecord]:
    return [trial for trial in evidence.run.trials if trial.outcome == "done"]


def left_out(findings: Findings) -> str:
    """``none is excluded``, or how many of the trials that are kept no verdict rests on."""
    parts = [
        f"{number} in {where}"
        for number, where in (
            (findings.trials_replaced, "blocks that were replaced"),
            (findings.trials_later, "blocks after the last look"),
        )
        if number
    ]
    if not parts:
        return "none is excluded"
    total = findings.trials_replaced + findings.trials_later
    verb = agreeing(total, "counts", "count")
    return f"{listed(parts)} {verb} for no verdict"
