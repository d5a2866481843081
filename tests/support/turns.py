"""Synthetic studies with several trials in a turn, or with time slices in each trial."""

import numpy as np
from msgspec.structs import replace

from support.synthetic import synthetic_study
from tiltyard.plan.model import Plan, PlannedWorkload
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.wire import Interval

TYPICAL = 14_000.0


def planned(plan: Plan, **update: object) -> Plan:
    """The same plan with its workload's fields, or those of its spec, set."""
    (workload,) = plan.workloads
    spec = workload.spec.model_copy(update={"trials": update.pop("trials", None)})
    changed = workload.model_copy(update={"spec": spec, **update})
    return plan.model_copy(update={"workloads": (changed,)})


def in_turns(
    *, trials: int, blocks: int, shared: float, between: float, within: float, seed: int = 1
) -> tuple[Plan, RunRecord]:
    """Two equal systems whose noise is that of the block, of the turn and of the trial (ln)."""
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), blocks, seed=seed)
    plan = planned(plan, trials=trials)
    rng = np.random.default_rng(seed)
    template = {(trial.key.block, trial.key.system): trial for trial in run.trials}
    made: list[TrialRecord] = []
    for block in plan.blocks[:blocks]:
        of_block = rng.normal(0, shared)
        for turn in block.turns:
            of_turn = of_block + rng.normal(0, between)
            for key in plan.trials_in(block.number, turn):
                trial = template[block.number, turn.system]
                value = TYPICAL * float(np.exp(of_turn + rng.normal(0, within)))
                samples = tuple(
                    replace(sample, value=value) if sample.metric == "transactions" else sample
                    for sample in trial.samples
                )
                update = {"key": key, "samples": Samples.of(samples), "slot": len(made) + 1}
                made.append(trial.model_copy(update=update))
    return plan, run.model_copy(update={"trials": tuple(made)})


def with_slices(trial: TrialRecord, rates: np.ndarray, slice_s: float = 1.0) -> TrialRecord:
    """A trial whose headline is the operations of its slices over their time.

    Args:
        trial: of PostMark's shape.
        rates: operations per second in each slice, shape (n,).
        slice_s: length of a slice.
    """
    counts = [round(rate * slice_s) for rate in rates]
    total_s = len(counts) * slice_s
    intervals = tuple(
        Interval(t_s=(place + 1) * slice_s, operations=count, bytes=4096 * count)
        for place, count in enumerate(counts)
    )
    update = {"value": sum(counts) / total_s, "operations": sum(counts), "elapsed_s": total_s}
    samples = tuple(
        replace(sample, **update) if sample.metric == "transactions" else sample
        for sample in trial.samples
    )
    return trial.model_copy(update={"samples": Samples.of(samples), "intervals": intervals})


def sliced(rates: np.ndarray, *, slice_s: float = 1.0, **update: object) -> tuple[Plan, RunRecord]:
    """Two systems; every trial has these slices, in the order of the trials one row each.

    Args:
        rates: shape (trials, n); trials = 2 × blocks.
        slice_s: length of a slice.
        update: fields of the planned workload, as :func:`planned` sets them.
    """
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), len(rates) // 2)
    trials = [
        with_slices(trial, own, slice_s) for trial, own in zip(run.trials, rates, strict=True)
    ]
    return planned(plan, **update), run.model_copy(update={"trials": tuple(trials)})


def workload_of(plan: Plan) -> PlannedWorkload:
    """The one workload of a plan."""
    (workload,) = plan.workloads
    return workload
