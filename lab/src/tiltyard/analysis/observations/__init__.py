"""Observations in words: one file a kind, and one line in the registry below.

Each kind is a registered test with a smallest number of blocks. All tests of a report are one
family, corrected by Benjamini–Hochberg at 5 %; where nothing is to be found, that is also the
chance that a report holds any sentence. Two sorts of claims stand outside of it: those of sameness
need no correction (every one of their tests must reject) but are told only beside something that
moves, and those that are made of verdicts rest on the correction of the verdicts.

Left out are two sentences that need what a study does not have: how near a value is to the bound of
the hardware (needs a measured bound), and whether a variance is unusual (needs earlier studies).
"""

from collections.abc import Sequence
from typing import Final

from tiltyard.analysis.model import Observation
from tiltyard.analysis.observations import (
    autocorrelation,
    bimodal,
    change,
    cliff,
    consistency,
    crossover,
    drift,
    growth,
    insensitive,
    leave_one_out,
    losses,
    outlier,
    saturation,
    step,
    tail,
)
from tiltyard.analysis.observations.choose import accept, make, tell
from tiltyard.analysis.observations.claim import Kind, Scene
from tiltyard.analysis.quantity import Measured
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord

REGISTRY: Final[tuple[Kind, ...]] = (
    losses.KIND,
    leave_one_out.KIND,
    crossover.KIND,
    cliff.KIND,
    saturation.KIND,
    growth.KIND,
    change.KIND,
    insensitive.KIND,
    bimodal.KIND,
    consistency.KIND,
    tail.KIND,
    step.KIND,
    drift.KIND,
    autocorrelation.KIND,
    outlier.KIND,
)
"""The most specific first: what one kind has told of a course, later ones do not tell again."""


def observe(
    measured: Sequence[Measured],
    run: RunRecord,
    plan: Plan,
    judged: Sequence[JudgedWorkload],
) -> dict[str, tuple[Observation, ...]]:
    """Workload → what is worth saying about it, at most eight sentences, the largest first.

    Args:
        measured: the values of every workload.
        run: slots, telemetry and device counters of the trials; facts of the host.
        plan: the rules of the study.
        judged: the same workloads with verdicts, where any value is there.
    """
    verdicts = {found.measured.workload.spec.name: found for found in judged}
    scenes = [Scene(own, verdicts.get(own.workload.spec.name), plan, run) for own in measured]
    made = [test for scene in scenes for test in make(REGISTRY, scene)]
    return tell(accept(made))
