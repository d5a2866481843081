"""What is known of the noise and the costs of a workload before the study."""

import math
from collections.abc import Sequence

import numpy as np

from tiltyard.plan.pilot import CellTime, PilotWorkload
from tiltyard.stats.replication import VarianceComponents
from tiltyard.stats.types import FloatArray
from tiltyard.study.model import Frozen


class Basis(Frozen):
    """What is known of one workload before the study."""

    values: dict[str, tuple[tuple[float, ...], ...]]
    """System → blocks → trials: ln of the mean over headline cells; nan where a trial failed."""
    own: tuple[float, float] | None
    """Variance of a trial in its turn, and of a turn; ``None`` where each turn had one trial."""
    turn_s: float
    """What a turn takes beside its trials, shared among the workloads."""
    trial_s: float
    cells: tuple[CellTime, ...] = ()
    """How long the cells of the headline are measured, where that is known."""


def basis_of(
    values: FloatArray,
    systems: Sequence[str],
    components: VarianceComponents | None,
    turn_s: float,
    trial_s: float,
    cells: Sequence[CellTime] = (),
) -> Basis:
    """What an earlier run tells of a workload.

    Args:
        values: shape (systems, blocks, trials).
        systems: names, in that order.
        components: of the values.
        turn_s: what a turn takes beside its trials, shared among the workloads.
        trial_s: what a trial takes.
        cells: how long its cells are measured.
    """
    return Basis(
        values={
            name: tuple(tuple(float(value) for value in row) for row in own)
            for name, own in zip(systems, values, strict=True)
        },
        own=None if components is None else (components.own[0], components.own[1]),
        turn_s=turn_s,
        trial_s=trial_s,
        cells=tuple(cells),
    )


def basis_of_pilot(found: PilotWorkload) -> Basis:
    """What a pilot tells of a workload."""
    own = None
    if found.cv_trials is not None and found.cv_blocks is not None:
        own = (found.cv_trials**2, found.cv_blocks**2)
    return Basis(
        values={
            name: tuple(tuple(math.nan if v is None else v for v in row) for row in rows)
            for name, rows in found.values.items()
        },
        own=own,
        turn_s=found.turn_s,
        trial_s=found.trial_s,
        cells=found.cells,
    )


def turns_of(found: Basis, system: str, trials: int) -> FloatArray:
    """A system's values of each block as they would vary with so many trials in a turn."""
    values = np.array(found.values[system], dtype=np.float64)
    means: FloatArray = values.mean(axis=1)
    measured = values.shape[1]
    if found.own is None or trials == measured:
        return means
    of_trial, of_turn = found.own
    before, after = (of_turn + of_trial / count for count in (measured, trials))
    if before == 0:
        return means
    centre = np.nanmean(means) if np.isfinite(means).any() else 0.0
    scaled: FloatArray = centre + (means - centre) * math.sqrt(after / before)
    return scaled
