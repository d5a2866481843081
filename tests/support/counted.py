"""Synthetic studies whose clock counted instructions."""

from typing import Any

from msgspec.structs import replace

from support.synthetic import synthetic_study
from tiltyard.plan.model import Plan
from tiltyard.plan.path_length import path_length_cards
from tiltyard.run.read import counted_in_instructions
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.wire import Sample


def counted_study(**options: Any) -> tuple[Plan, RunRecord]:
    """The study that :func:`synthetic_study` makes, read as counts of instructions."""
    plan, run = synthetic_study(**options)
    plan = plan.model_copy(
        update={
            "systems": tuple(s.model_copy(update={"clock": "instructions"}) for s in plan.systems),
            "workloads": tuple(
                w.model_copy(update={"metrics": path_length_cards(w.metrics)})
                for w in plan.workloads
            ),
        }
    )
    trials = tuple(counted_in_instructions(map(_consistent, run.trials), plan))
    return plan, run.model_copy(update={"trials": trials})


def _consistent(trial: TrialRecord) -> TrialRecord:
    """With the elapsed time that belongs to each value."""
    return trial.model_copy(update={"samples": Samples.of(map(_timed, trial.samples))})


def _timed(sample: Sample) -> Sample:
    amount = sample.bytes if sample.unit == "B/s" else sample.operations
    return replace(sample, elapsed_s=amount / sample.value)
