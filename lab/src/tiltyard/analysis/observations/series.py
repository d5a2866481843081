"""The trials of one workload in the order in which they were run."""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import Claim, Scene
from tiltyard.analysis.order import DRIFT_PERCENT
from tiltyard.stats.trend import thinned
from tiltyard.stats.types import FloatArray

TRIALS: Final = 20
"""Fewer trials tell nothing of their order."""
LEAST: Final = math.log1p(DRIFT_PERCENT / 100)
"""A smaller change, on the log scale, is not told."""


@dataclass(frozen=True)
class Series:
    """How far each trial, or each block, is from what is typical of the systems, log scale."""

    slots: FloatArray
    """Places in the run, ascending; of a block their mean."""
    values: FloatArray
    trials: int
    blocks: int
    systems: tuple[str, ...]
    block_of: tuple[int, ...]
    """The block of each trial."""

    @property
    def of_blocks(self) -> "Series":
        """Means of whole blocks: what lasts through a block says nothing of what follows it."""
        _, block = np.unique(self.block_of, return_inverse=True)
        count = np.bincount(block)
        slots = np.bincount(block, self.slots) / count
        values = np.bincount(block, self.values) / count
        order = np.argsort(slots)
        return replace(self, slots=slots[order], values=values[order], block_of=())

    @property
    def condensed(self) -> "Series":
        """The same, neighbours together if there are many: see :func:`thinned`."""
        slots, values = thinned(self.slots, self.values)
        return replace(self, slots=slots, values=values, block_of=())

    def is_long(self, min_blocks: int) -> bool:
        """Whether there is enough of it to be tested."""
        return self.trials >= TRIALS and self.blocks >= min_blocks

    def claim(self, size: float, sentence: str, evidence: str) -> Claim:
        """A claim on the order of the trials: what one kind has told of it, no later one tells."""
        return Claim(
            subject=("order",),
            place="",
            metric=None,
            systems=self.systems,
            blocks=self.blocks,
            size=size,
            sentence=sentence,
            evidence=evidence,
            covers=(("order",),),
        )


def series_of(scene: Scene) -> Series:
    """The series of a workload; trials without a value are no part of it."""
    measured = scene.measured
    rows = {block: row for row, block in enumerate(measured.blocks)}
    columns = {system: column for column, system in enumerate(measured.systems)}
    relative = scene.relative
    found = sorted(
        (trial.slot, float(relative[rows[key.block], columns[key.system]]), key.block)
        for trial in measured.trials
        if (key := trial.key).block in rows and key.repeat == 1
    )
    found = [one for one in found if np.isfinite(one[1])]
    slots = np.array([slot for slot, _, _ in found], dtype=np.float64)
    values = np.array([value for _, value, _ in found], dtype=np.float64)
    block_of = tuple(block for _, _, block in found)
    return Series(slots, values, len(found), len(set(block_of)), measured.systems, block_of)


def is_rather_a_step(series: Series, place: int) -> bool:
    """Whether two levels describe the series better than a line, by Schwarz's criterion.

    The place of a step was searched for, which counts as two parameters more (Zhang and Siegmund,
    "A modified Bayes information criterion", Biometrics 63, 2007).
    """
    n = len(series.values)
    before, after = series.values[:place], series.values[place:]
    steps = np.sum((before - before.mean()) ** 2) + np.sum((after - after.mean()) ** 2)
    line = np.polynomial.Polynomial.fit(series.slots, series.values, 1)(series.slots)
    return bool(steps * n ** (2 / n) < np.sum((series.values - line) ** 2))
