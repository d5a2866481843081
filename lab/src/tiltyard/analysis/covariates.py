"""What others did during trials, as covariates: declared in the study, frozen in the plan.

Only what is no work of the system's own: time of others on the CPUs that measure, and what the
hypervisor took of them. A covariate is the logarithm of the share of the time that was left to us,
because the work done in a given time goes with that share.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tiltyard.run.gates import TICKS_S
from tiltyard.run.record import TrialRecord
from tiltyard.stats.types import FloatArray
from tiltyard.study.model import Covariate

MOST: Final = 0.95
"""More of the time is never taken for lost: a tick more or less would decide everything."""

WORDS: Final[Mapping[Covariate, str]] = {
    "external_cpu": "CPU time of others on the CPUs that measure",
    "steal": "time that the hypervisor took of them",
}


def covariates_of_turn(trials: Sequence[TrialRecord], names: Sequence[Covariate]) -> FloatArray:
    """Means over the trials of a turn, shape (covariates,); nan where the host does not tell."""
    return np.array([np.mean([_left(trial, name) for trial in trials]) for name in names])


def _left(trial: TrialRecord, name: Covariate) -> float:
    """Logarithm of the share of the time that was left to us; ticks that may be chance are none."""
    seen = trial.telemetry
    taken_s = trial.taken_s(name)
    if seen is None or taken_s is None or seen.elapsed_s <= 0:
        return np.nan
    if taken_s <= TICKS_S:
        return 0.0
    share = taken_s / seen.elapsed_s / max(1, len(seen.cpus))
    return float(np.log1p(-min(share, MOST)))
