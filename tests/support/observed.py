"""Studies of one workload with a grid whose values are given, cell by cell."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec.structs import replace

from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, Observation
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.stats.types import FloatArray

KIB = 1024
RECORDS = tuple(4 * KIB * 4**power for power in range(5))
"""4 KiB to 1 MiB."""
FILES = tuple(2**power * 1024**2 for power in range(8, 14))
"""256 MiB to 8 GiB."""
Change = Callable[[TrialRecord], dict[str, Any]]


@cache
def shape_of(metrics: tuple[str, ...], axis: str, levels: tuple[int, ...]) -> Shape:
    """A workload with these metrics over one axis."""
    return Shape(
        metrics=tuple(card(name, name.replace("_", " "), "B/s") for name in metrics),
        typical=dict.fromkeys(metrics, 1e9),
        grid=(axis,),
        points=tuple({axis: level} for level in levels),
    )


def observed_study(
    logs: FloatArray,
    levels: tuple[int, ...] = RECORDS,
    axis: str = "record",
    metrics: tuple[str, ...] = ("read",),
    change: Change = lambda trial: {},
) -> tuple[Plan, RunRecord]:
    """A plan and its record with the given log values.

    Args:
        logs: added to the log of 1 GB/s, shape (blocks, systems, metrics × levels); time goes on
            with the rows, within a row in the drawn order of systems.
        levels: of the axis.
        axis: its name.
        metrics: names of the headline metrics.
        change: fields to replace in each trial.
    """
    blocks, systems, cells = logs.shape
    assert cells == len(metrics) * len(levels)
    names = tuple("abcdefgh"[:systems])
    plan, run = synthetic_study(
        names,
        ("grid",),
        blocks=blocks,
        noise=0.0,
        shapes={"grid": shape_of(metrics, axis, levels)},
        profile="standard" if blocks <= 20 else "fixed",
        fixed_blocks=None if blocks <= 20 else blocks,
    )
    values = 1e9 * np.exp(logs)
    trials = []
    for trial in run.trials:
        own = values[trial.key.block - 1, names.index(trial.key.system)]
        samples = tuple(
            replace(sample, value=float(value))
            for sample, value in zip(trial.samples, own, strict=True)
        )
        changed = trial.model_copy(update={"samples": Samples.of(samples)})
        trials.append(changed.model_copy(update=change(changed)))
    return plan, run.model_copy(update={"trials": tuple(trials)})


def findings_of(logs: FloatArray, *args: Any, **options: Any) -> Findings:
    """The whole analysis of such a study."""
    return analyse(*observed_study(logs, *args, **options))


def observations_of(logs: FloatArray, *args: Any, **options: Any) -> tuple[Observation, ...]:
    """What it says in words."""
    return findings_of(logs, *args, **options).workloads[0].observations


def of_kind(observations: Sequence[Observation], kind: str) -> list[Observation]:
    """Those of one kind."""
    return [one for one in observations if one.kind == kind]
