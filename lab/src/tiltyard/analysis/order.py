"""The trials in the order in which they ran: how typical each was, and whether anything drifted."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from tiltyard.analysis.model import Drift, TrialLine
from tiltyard.analysis.quantity import Measured, oriented
from tiltyard.frozen import lean
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.autoregressive import line_p
from tiltyard.stats.trend import trend
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of

DRIFT_LEVEL: Final = 0.01
DRIFT_PERCENT: Final = 1.0
"""A drift is stated when it is both significant at the level and larger than this."""
DRIFT_BLOCKS: Final = 7
"""Fewer blocks of a workload say nothing about drift."""


def relative_log_values(measured: Measured) -> FloatArray:
    """How far each trial is from what is typical of its system, shape (blocks, systems), ln.

    The mean over the headline cells of value over the system's median; nan without a value.
    """
    if not measured.cells:
        return np.full(measured.attempted.shape, np.nan)
    _, stack = oriented(measured.cells)
    relative: FloatArray = (stack - _medians(stack)).mean(axis=0)
    return relative


def _medians(stack: FloatArray) -> FloatArray:
    """Median over blocks of what is there, shape (cells, 1, systems); nan where nothing is."""
    ordered = np.sort(stack, axis=1)
    count = np.isfinite(stack).sum(axis=1, keepdims=True)
    middle = np.maximum(count - 1, 0) // 2, count // 2
    low, high = (np.take_along_axis(ordered, place, axis=1) for place in middle)
    return (low + high) / 2


def trial_lines(run: RunRecord, workloads: Sequence[Measured]) -> tuple[TrialLine, ...]:
    """Every trial, as the order plot and the appendix show it."""
    relative = {
        (block, system, measured.workload.spec.name): value
        for measured in workloads
        for block, row in zip(measured.blocks, relative_log_values(measured), strict=True)
        for system, value in zip(measured.systems, row.tolist(), strict=True)
    }
    return tuple(
        _line(trial, relative[trial.key.block, trial.key.system, trial.key.workload])
        for trial in run.trials
    )


def _line(trial: TrialRecord, relative: float) -> TrialLine:
    access = trial.end.access if trial.end else None
    typical = trial.outcome == "done" and np.isfinite(relative)
    line = TrialLine(
        slot=trial.slot,
        block=trial.key.block,
        system=trial.key.system,
        workload=trial.key.workload,
        repeat=trial.key.repeat,
        started=trial.started,
        elapsed_s=trial.elapsed_s,
        outcome=trial.outcome,
        reason=trial.reason,
        relative=float(np.exp(relative)) if typical else None,
        foreign_share=foreign_share(trial),
        file=trial.file or None,
        access=f"{access.declared}, {access.verdict}: {access.reason}" if access else None,
    )
    return lean(line)


def foreign_share(trial: TrialRecord) -> float | None:
    """CPU time of other processes as a share of the trial's wall time; 1 is one whole core.

    On the CPUs that measured, where the host tells; see :class:`tiltyard.run.record.TrialRecord`.
    """
    if trial.end is None or trial.foreign_s is None or trial.watched_s <= 0:
        return None
    return trial.foreign_s / trial.watched_s


def steal_share(trial: TrialRecord) -> float | None:
    """The same of the time that the hypervisor gave to others; ``None`` where it is not told."""
    if trial.end is None or trial.steal_s is None or trial.watched_s <= 0:
        return None
    return trial.steal_s / trial.watched_s


def drifts(lines: Sequence[TrialLine], display: Mapping[str, str]) -> Iterator[Drift]:
    """For each workload with enough blocks: did its values move with the place in the order?

    Args:
        lines: every trial.
        display: workload → as people read it.
    """
    by_workload = defaultdict(list)
    for line in lines:
        by_workload[line.workload].append(line)
    for workload, own in by_workload.items():
        turns = [line for line in own if line.repeat == 1]
        blocks = defaultdict(list)
        for line in turns:
            if line.relative is not None:
                blocks[line.block].append((line.slot, np.log(line.relative)))
        # Trials of one block share what happened to it: blocks are the unit.
        points = sorted(np.mean(own, axis=0).tolist() for own in blocks.values())
        slots, residuals = np.array(points, dtype=np.float64).reshape(-1, 2).T
        found = trend(slots, residuals) if len(points) >= DRIFT_BLOCKS else None
        if found is None:
            continue
        p = found.p
        if p < DRIFT_LEVEL:
            # Noise that lasts from block to block has slopes, too.
            p = max(p, line_p(residuals))
        change = float(100 * np.expm1(found.slope * np.ptp(slots)))
        yield Drift(
            workload=workload,
            spearman=found.spearman,
            p=p,
            change_percent=change,
            sentence=_drift_sentence(display[workload], p, change, sum(map(len, blocks.values()))),
        )


def _drift_sentence(workload: str, p: float, change: float, trials: int) -> str:
    if p < DRIFT_LEVEL and abs(change) > DRIFT_PERCENT:
        moved = "rose" if change > 0 else "fell"
        return (
            f"{workload}: values {moved} by about {abs(change):.1f} % from the first trial to the "
            f"last (p = {p:.2g}, {count_of(trials, 'trial')}). Every system met this alike, "
            "because the order "
            "is random within each block."
        )
    why = f"p = {p:.2g}, not below {DRIFT_LEVEL:g}"
    if p < DRIFT_LEVEL:
        why = f"p = {p:.2g}, but by {abs(change):.2g} %, not more than {DRIFT_PERCENT:g} %"
    return (
        f"{workload}: no drift found over the order of the trials ({count_of(trials, 'trial')}, "
        f"{why})."
    )
