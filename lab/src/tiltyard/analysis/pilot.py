"""What a pilot tells about its workloads: noise, costs, trials in a turn, warm-up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Final

import numpy as np

from tiltyard.analysis.cell_times import cell_times
from tiltyard.analysis.order import foreign_share, steal_share
from tiltyard.analysis.replication import components_of, values_of_trials
from tiltyard.analysis.warm_up import all_series_of, warm_up_of
from tiltyard.plan.model import Plan, PlannedWorkload
from tiltyard.plan.pilot import BLOCKS, TRIALS, Pilot, PilotWorkload, hash_of_systems
from tiltyard.plan.program import is_unsized
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.replication import VarianceComponents, optimal_counts
from tiltyard.stats.types import FloatArray
from tiltyard.wire import End

MOST_TRIALS: Final = 5
"""In a turn, however little the turns differ in a pilot: a study begins with seven turns at least,
and five blocks easily overlook what turns contribute."""
MOST_TRIAL_S: Final = 1.0
"""Time of the executions of one trial together, however little trials differ."""
_LEAST_COST_S: Final = 1e-3


def pilot_of(
    plan: Plan,
    run: RunRecord,
    turn_s: float,
    trial_s: Mapping[str, float],
    ended: str,
    executed_s: Mapping[str, Sequence[Sequence[float]]] = MappingProxyType({}),
) -> Pilot:
    """The findings of a pilot that has been run.

    Args:
        plan: of the pilot.
        run: its record.
        turn_s: what a turn takes beside its trials; the workloads share it.
        trial_s: workload → what a trial takes.
        ended: when the pilot was done, UTC, ISO 8601.
        executed_s: workload → trial → times of its executions.
    """
    share_s = turn_s / len(plan.workloads)
    return Pilot(
        ended=ended,
        plan_hash=plan.hash,
        seed=plan.seed,
        systems_sha256=hash_of_systems(plan.systems),
        blocks=BLOCKS,
        trials=TRIALS,
        workloads=tuple(
            _workload(plan, run, workload, share_s, trial_s[name], executed_s.get(name, ()))
            for workload in plan.workloads
            if (name := workload.spec.name) in trial_s
        ),
        telemetry=_telemetry(run),
    )


def _workload(
    plan: Plan,
    run: RunRecord,
    workload: PlannedWorkload,
    turn_s: float,
    trial_s: float,
    executed_s: Sequence[Sequence[float]],
) -> PilotWorkload:
    warm_up_s = warm_up_of(all_series_of(run.trials, workload))
    measuring = workload.model_copy(update={"warm_up_s": warm_up_s})
    values = values_of_trials(plan, run, measuring)
    found = components_of(values)
    trials = 1
    if found is not None:
        costs = [max(cost, _LEAST_COST_S) for cost in (trial_s, turn_s)]
        (trials,) = optimal_counts(found.own[:2], costs, MOST_TRIALS)
    executed = _executions(executed_s, workload)
    return PilotWorkload(
        name=workload.spec.name,
        hash=workload.hash,
        values={
            system.name: tuple(_numbers(row) for row in own)
            for system, own in zip(plan.systems, values, strict=True)
        },
        cv_trials=math.sqrt(found.own[0]) if found else None,
        cv_blocks=math.sqrt(found.own[1]) if found else None,
        turn_s=turn_s,
        trial_s=trial_s,
        trials=trials,
        executions=executed and found and executed.cheapest(found, trial_s + turn_s),
        cv_executions=executed and math.sqrt(executed.variance),
        warm_up_s=warm_up_s,
        cells=cell_times(run, workload) if plan.clock == "time" else (),
    )


@dataclass(frozen=True)
class Executions:
    """How executions of a program differ within trials."""

    variance: float
    """Of the logarithm of their time."""
    number: float
    """In a trial: the harmonic mean."""
    each_s: float

    def cheapest(self, found: VarianceComponents, spent_s: float) -> int:
        """How many make a trial (Kalibera and Jones): the levels above them count as one.

        Args:
            found: components between trials of a turn, and between turns.
            spent_s: what one more turn takes, with a trial of so many executions.
        """
        between = max(0.0, found.own[0] - self.variance / self.number) + found.own[1]
        around_s = max(_LEAST_COST_S, spent_s - self.number * self.each_s)
        most = max(1, int(MOST_TRIAL_S / self.each_s))
        return optimal_counts((self.variance, between), (self.each_s, around_s), most)[0]


def _executions(trials: Sequence[Sequence[float]], workload: PlannedWorkload) -> Executions | None:
    """What the trials of a program tell of its executions.

    ``None`` where the study says how many there are, and where trials have one each.

    Args:
        trials: the times of each one's executions, in s.
        workload: what they executed.
    """
    if workload.program is None or not is_unsized(workload.program):
        return None
    several = [np.array(times) for times in trials if len(times) > 1]
    if not several:
        return None
    return Executions(
        variance=float(np.mean([np.var(np.log(times), ddof=1) for times in several])),
        number=len(several) / sum(1 / len(times) for times in several),
        each_s=median(float(times.mean()) for times in several),
    )


def _numbers(row: FloatArray) -> tuple[float | None, ...]:
    """A row for a file that has no nan."""
    return tuple(float(value) if math.isfinite(value) else None for value in row)


def _telemetry(run: RunRecord) -> dict[str, float]:
    """The median over trials of what else went on, as shares of the time of a trial."""
    shares: dict[str, list[float]] = {}
    for trial in run.trials:
        if trial.end is None or trial.end.elapsed_s <= 0:
            continue
        for name, share in _shares(trial, trial.end).items():
            if share is not None:
                shares.setdefault(name, []).append(share)
    return {name: median(found) for name, found in shares.items()}


def _shares(trial: TrialRecord, end: End) -> dict[str, float | None]:
    """What others took, and how much of the time tasks waited; ``None`` where nothing is told."""
    waits = end.usage.pressure
    waited_s = (waits.cpu_s, waits.io_s, waits.memory_s) if waits else (None, None, None)
    return {
        "foreign_cpu": foreign_share(trial),
        "steal": steal_share(trial),
        **{
            f"pressure_{name}": None if seconds is None else seconds / end.elapsed_s
            for name, seconds in zip(("cpu", "io", "memory"), waited_s, strict=True)
        },
    }
