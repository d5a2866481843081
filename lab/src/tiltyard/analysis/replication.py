"""Where the variance of a workload comes from: from turn to turn, or from trial to trial."""

import math

import numpy as np

from tiltyard.analysis.model import Replication
from tiltyard.analysis.quantity import read_trials
from tiltyard.plan.model import Plan, PlannedWorkload, TrialKey
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.replication import VarianceComponents, variance_components, without_shared
from tiltyard.stats.types import FloatArray
from tiltyard.units import agreeing, count_of


def values_of_trials(plan: Plan, run: RunRecord, workload: PlannedWorkload) -> FloatArray:
    """Logarithm of the mean over headline cells of every trial, shape (systems, blocks, trials).

    Higher is better. Blocks are those of which a trial has ended, in their order; nan where a
    trial failed or did not yield every cell.
    """
    name = workload.spec.name

    def place_of(key: TrialKey) -> int:
        return (key.repeat - 1) // workload.amounts

    trials = run.by_workload.get(name, ())
    systems = {system.name: place for place, system in enumerate(plan.systems)}
    blocks = {n: place for place, n in enumerate(sorted({trial.key.block for trial in trials}))}
    repeats = max((place_of(trial.key) for trial in trials), default=0) + 1
    shape = len(systems), len(blocks), repeats
    done: dict[tuple[int, ...], list[TrialRecord]] = {
        (systems[trial.key.system], blocks[trial.key.block], place_of(trial.key)): [trial]
        for trial in trials
        if trial.outcome == "done" and workload.completes(trial.key.repeat)
    }
    rows = [
        cell.log_values if cell.direction == "higher" else -cell.log_values
        for cell in read_trials(done, workload, np.zeros(shape, dtype=np.bool_))
        if cell.metric.role == "headline" and np.isfinite(cell.log_values).any()
    ]
    return np.mean(rows, axis=0) if rows else np.full(shape, np.nan)


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
            f"{workload.display}: deviation between turns{each} {100 * cv_blocks:.2g} %, between "
            f"trials of one turn {100 * cv_trials:.2g} %: {_advice(cv_blocks, cv_trials, trials)}."
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
    return (
        f"the {count_of(trials, 'trial')} in a turn still {agreeing(trials, 'carries', 'carry')} "
        f"{100 * share:.0f} % of a block's variance"
    )
