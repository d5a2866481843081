"""Where the variance of a workload comes from: from turn to turn, or from trial to trial."""

import math

import numpy as np

from tiltyard.analysis.model import Replication
from tiltyard.analysis.warm_up import samples_after_warm_up
from tiltyard.plan.model import Plan, PlannedWorkload, TrialKey
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.replication import VarianceComponents, variance_components, without_shared
from tiltyard.stats.types import FloatArray

Place = tuple[str, tuple[tuple[str, int | str], ...]]
"""Metric and point of the grid."""


def values_of_trials(plan: Plan, run: RunRecord, workload: PlannedWorkload) -> FloatArray:
    """Logarithm of the mean over headline cells of every trial, shape (systems, blocks, trials).

    Higher is better. Blocks are those of which a trial has ended, in their order; nan where a
    trial failed or did not yield every cell.
    """
    name = workload.spec.name

    def place_of(key: TrialKey) -> int:
        return (key.repeat - 1) // workload.amounts

    own = [trial for trial in run.trials if trial.key.workload == name]
    read = {trial.key: _log_values(trial, workload) for trial in own if trial.outcome == "done"}
    cells = {place for found in read.values() for place in found}
    systems = {system.name: place for place, system in enumerate(plan.systems)}
    numbers = sorted({trial.key.block for trial in own})
    blocks = {number: place for place, number in enumerate(numbers)}
    repeats = max((place_of(trial.key) for trial in own), default=0) + 1
    values = np.full((len(systems), len(blocks), repeats), np.nan)
    for key, found in read.items():
        if found.keys() == cells and found:
            at = systems[key.system], blocks[key.block], place_of(key)
            values[at] = np.mean(list(found.values()))
    return values


def _log_values(trial: TrialRecord, workload: PlannedWorkload) -> dict[Place, float]:
    """Logarithm of each headline value, turned so that more is better; without those of zero."""
    signs = {
        metric.name: 1 if metric.direction == "higher" else -1
        for metric in workload.metrics
        if metric.role == "headline"
    }
    return {
        (sample.metric, tuple(sample.at.items())): signs[sample.metric] * math.log(sample.value)
        for sample in samples_after_warm_up(trial, workload)
        if sample.metric in signs and sample.value > 0
    }


def components_of(values: FloatArray) -> VarianceComponents | None:
    """Components between trials of a turn and between turns, without what systems share.

    ``None`` with one trial in a turn, or fewer than two blocks that every system completed.

    Args:
        values: shape (systems, blocks, trials), as :func:`values_of_trials` gives them.
    """
    whole = values[:, np.isfinite(values).all(axis=(0, 2))]
    if whole.shape[1] < 2 or whole.shape[2] < 2:
        return None
    noise = without_shared(whole)
    # A level above the blocks only averages over systems; one system is its own average.
    return variance_components(noise if len(noise) > 1 else noise[0])


def replication(plan: Plan, run: RunRecord, workload: PlannedWorkload) -> Replication | None:
    """What trials in a turn tell; ``None`` where each turn has one."""
    trials = workload.spec.trials or 1
    if trials == 1:
        return None
    found = components_of(values_of_trials(plan, run, workload))
    if found is None:
        return None
    cv_trials, cv_blocks = (math.sqrt(variance) for variance in found.own[:2])
    redrawn = {system.redraws for system in plan.systems if system.redraws}
    each = f" ({redrawn.pop()} each)" if len(redrawn) == 1 else ""
    name = workload.spec.name
    return Replication(
        workload=name,
        trials=trials,
        cv_blocks=cv_blocks,
        cv_trials=cv_trials,
        sentence=(
            f"{name}: deviation between turns{each} {100 * cv_blocks:.2g} %, between trials of "
            f"one turn {100 * cv_trials:.2g} %: {_advice(cv_blocks, cv_trials, trials)}."
        ),
    )


def _advice(cv_blocks: float, cv_trials: float, trials: int) -> str:
    """Whether other trials in a turn would help: which part of a block's variance is theirs."""
    explained = cv_trials**2 / trials
    whole = cv_blocks**2 + explained
    share = explained / whole if whole else 0.0
    if share < 0.1:
        return "more trials in a turn would not help"
    if share > 0.5:
        return "more trials in a turn would help, at less cost than more blocks"
    return f"the {trials} trials in a turn still carry {100 * share:.0f} % of a block's variance"
