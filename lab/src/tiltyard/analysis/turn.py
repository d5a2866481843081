"""Several trials of one workload in one turn: together they are one measurement of a block."""

from collections.abc import Sequence

from tiltyard.analysis.axes import Level
from tiltyard.analysis.warm_up import samples_after_warm_up
from tiltyard.plan.model import PlannedWorkload
from tiltyard.run.record import TrialRecord
from tiltyard.wire import Sample

CellKey = tuple[str, tuple[tuple[str, Level], ...]]
"""Name of the metric, and the point of the grid."""


def cells_of_turn(
    trials: Sequence[TrialRecord], workload: PlannedWorkload
) -> dict[CellKey, list[Sample]]:
    """The samples of each cell that a turn measured, one a trial.

    Nothing unless all planned trials are done, and no cell that one of them lacks: a mean over
    some of the trials would count in its block like one over all.

    Args:
        trials: those of one workload in one turn that have ended.
        workload: how many there were to be, and what of each is warm-up.
    """
    if len(trials) < (workload.spec.trials or 1) or any(
        trial.outcome != "done" for trial in trials
    ):
        return {}
    cells: dict[CellKey, list[Sample]] = {}
    for trial in trials:
        for sample in samples_after_warm_up(trial, workload):
            cells.setdefault((sample.metric, tuple(sample.at.items())), []).append(sample)
    return {key: samples for key, samples in cells.items() if len(samples) == len(trials)}
