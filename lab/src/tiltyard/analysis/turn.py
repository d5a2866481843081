"""Several trials of one workload in one turn: together they are one measurement of a block."""

from collections.abc import Sequence

from tiltyard.analysis.readings import Reader, Readings, mean_of
from tiltyard.analysis.warm_up import samples_after_warm_up
from tiltyard.plan.model import PlannedWorkload
from tiltyard.run.record import TrialRecord


def readings_of_turn(
    trials: Sequence[TrialRecord], workload: PlannedWorkload, reader: Reader
) -> Readings | None:
    """What a turn has measured.

    Nothing unless all planned trials are done, and no cell that one of them lacks: a mean over
    some of the trials would count in its block like one over all.

    Args:
        trials: those of one workload in one turn that have ended.
        workload: how many there were to be, and what of each is warm-up.
        reader: of this workload.
    """
    if len(trials) < workload.trials or any(trial.outcome != "done" for trial in trials):
        return None
    measured = [trial for trial in trials if workload.completes(trial.key.repeat)]
    return mean_of([reader.read(samples_after_warm_up(trial, workload)) for trial in measured])
