"""The oddest trial, with what its telemetry says. It is never left out."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import Claim, Kind, Result, Scene
from tiltyard.analysis.observations.telling import p_text
from tiltyard.analysis.order import foreign_share, steal_share
from tiltyard.run.record import TrialRecord
from tiltyard.stats.outliers import Outlier, max_outlier

SCORE: Final = 5.0
"""Modified z-score below which no trial is odd."""
UNUSUAL: Final = 0.02
"""A share of the trial's time, above that of the others, that may explain it."""


def _look(scene: Scene) -> Iterator[Result]:
    found = max_outlier(scene.relative, KIND.min_blocks)
    if found is not None:
        yield Result(found.p, _claim(scene, found) if found.score > SCORE else None)


def _claim(scene: Scene, found: Outlier) -> Claim:
    measured = scene.measured
    system, block = measured.systems[found.column], measured.blocks[found.row]
    own = scene.relative[:, found.column]
    others = np.delete(own, found.row)
    others = others[np.isfinite(others)]
    low, high = float(others.min()), float(others.max())
    trials = [trial for trial in measured.done if trial.key.system == system]
    odd = next(trial for trial in trials if trial.key.block == block)
    return Claim(
        subject=("outlier",),
        place="",
        metric=None,
        systems=(system,),
        blocks=found.n,
        size=max(low - found.distance, found.distance - high, 0.0),
        sentence=(
            f"{scene.name}: the trial of {system} in block {block} is an outlier, "
            f"{math.exp(found.distance):.2f}× of what is typical; the others are within "
            f"{math.exp(low):.2f}× and {math.exp(high):.2f}× ({found.n} blocks); "
            f"{_telemetry(odd, trials)}"
        ),
        evidence=(
            f"modified z-score {found.score:.0f}; {p_text(found.p)} that any trial is so far out "
            "in noise with the tails of Student's t of 3 degrees of freedom; it is kept"
        ),
    )


def _telemetry(odd: TrialRecord, trials: Sequence[TrialRecord]) -> str:
    """What was unusual about it, beside the others of its system."""
    shares = {
        "other processes": (foreign_share(odd), [foreign_share(trial) for trial in trials]),
        "the hypervisor": (steal_share(odd), [steal_share(trial) for trial in trials]),
    }
    told = [
        f"{who} took {100 * own:.0f} % of a CPU meanwhile (typical {100 * typical:.1f} %)"
        for who, (own, all_shares) in shares.items()
        if own is not None
        and own - (typical := median(share or 0.0 for share in all_shares)) > UNUSUAL
    ]
    return " and ".join(told) if told else "nothing in its telemetry tells why"


KIND = Kind(
    name="outlier",
    says="WORKLOAD: the trial of SYSTEM in block … is an outlier, …× of what is typical",
    test=(
        "modified z-score above 5, and too far out for Student's t of 3 degrees of freedom, "
        "Bonferroni over all trials of the workload"
    ),
    min_blocks=10,
    correction="family",
    look=_look,
)
