"""Trials that fail: what is claimed of equal systems, and what is lost of the power.

One system's turn fails in a share of the blocks, whatever it would have measured. A block that
failed is made up for by a spare as long as there is one; where none is left, the last look takes
the blocks that there are.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.contrast import MAX_FAILED_SHARE
from tiltyard.plan.model import spares_for
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, INVALID, FamilyRules, judge_family
from tiltyard.stats.looks import LEVEL, LOOKS
from tiltyard.stats.multiple import holm
from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, FloatArray

CV: Final = 0.05
"""Noise of each trial."""
DIFFERENCE: Final = 0.05
"""Whose power is told."""
FAILING: Final = (0.0, 0.05, 0.10, 0.15)
"""Shares of blocks in which the turn of one system fails."""
BLOCKS: Final = LOOKS["standard"][-1][0]
SPARES: Final = spares_for(BLOCKS)
SPENDING: Final = Spending("standard", False, LOOKS["standard"])
_RULES: Final = FamilyRules(
    rope=0.0,
    adjust=holm,
    rate=LEVEL,
    together=True,
    futility=False,
    max_failed_share=MAX_FAILED_SHARE,
)


@dataclass(frozen=True)
class FailureRates:
    """One rate of failures; shares of comparisons."""

    failing: float
    spares: int
    comparisons: int
    false: float
    """Equal systems: a difference was claimed."""
    missed: float
    """Equal systems: there is an interval, and it does not hold equality."""
    invalid: float
    """Equal systems: too many of the blocks failed."""
    found: float
    """Of those that differ: claimed."""


def failure_rates(comparisons: int, seed: int) -> tuple[FailureRates, ...]:
    """Every rate of failures, without spares and with them.

    Args:
        comparisons: of each kind.
        seed: the same seed gives the same rates.
    """
    kinds = [(failing, spares) for failing in FAILING for spares in (0, SPARES)]
    streams = np.random.SeedSequence(seed).spawn(len(kinds))
    return tuple(
        _of_kind(failing, spares, comparisons, np.random.default_rng(stream))
        for (failing, spares), stream in zip(kinds, streams, strict=True)
    )


def _of_kind(
    failing: float, spares: int, comparisons: int, rng: np.random.Generator
) -> FailureRates:
    shape = (comparisons, BLOCKS + spares)
    noise = rng.normal(0, CV * np.sqrt(2), shape)
    failed = rng.random(shape) < failing
    # A spare is made only where a block before it failed.
    made = np.arange(shape[1]) < BLOCKS + np.minimum(spares, _made_up_for(failed))[:, None]
    equal = [_ended(row, lost, on) for row, lost, on in zip(noise, failed, made, strict=True)]
    differ = noise + np.log1p(DIFFERENCE)
    found = [_ended(row, lost, on)[0] for row, lost, on in zip(differ, failed, made, strict=True)]
    outcome, missed = (np.array(column) for column in zip(*equal, strict=True))
    return FailureRates(
        failing=failing,
        spares=spares,
        comparisons=comparisons,
        false=float(np.mean(outcome == DIFFERENT)),
        missed=float(np.mean(missed)),
        invalid=float(np.mean(outcome == INVALID)),
        found=float(np.mean(np.array(found) == DIFFERENT)),
    )


def _made_up_for(failed: BoolArray) -> FloatArray:
    """Spares that are asked for until so many blocks succeeded, shape (comparisons,)."""
    succeeded = (~failed).cumsum(axis=1)
    return np.asarray((succeeded < BLOCKS).sum(axis=1) + 1 - BLOCKS)


def _ended(noise: FloatArray, failed: BoolArray, made: BoolArray) -> tuple[int, bool]:
    """How one comparison ends, and whether its interval misses equality."""
    lost = failed[made][None, :]
    differences = np.where(lost, np.nan, noise[made])
    found = judge_family(PairedBlocks(SPENDING, differences, lost), _RULES, to_come=0)
    return int(found.outcome[0]), bool(found.low[0] > 0 or found.high[0] < 0)


def _simulate(paths: int, seed: int) -> tuple[FailureRates, ...]:
    """Each comparison is judged by itself, which takes long: there are fewer of them."""
    return failure_rates(max(1, paths // 10), seed)


def _lines(found: tuple[FailureRates, ...]) -> list[Line]:
    worst = percent(FAILING[-1], 0)
    error = 2 * float(np.sqrt(LEVEL * (1 - LEVEL) / found[0].comparisons))
    return [
        Line(f"*standard*: false claims where up to {worst} % of one system's turns fail",
             f"{percent(LEVEL, 0)} ± {percent(error)} %", span(one.false for one in found)),
    ]  # fmt: skip


def _told(found: tuple[FailureRates, ...]) -> str:
    head = ("blocks in which one system's turn fails", "spares", "equal: false claims, %",
            "equal: intervals that miss, %", "too many failed: no verdict, %",
            f"{percent(DIFFERENCE, 0)} % found, %")  # fmt: skip
    rows = [
        (
            f"{percent(one.failing, 0)} %",
            f"{one.spares}",
            percent(one.false),
            percent(one.missed),
            percent(one.invalid),
            percent(one.found, 0),
        )
        for one in found
    ]
    return f"""
## Trials that fail

Standard profile, a noise of {percent(CV, 0)} %, {found[0].comparisons} comparisons of each kind:

{table(head, rows)}

Failed blocks are made up for by spares; where none is left, the last look takes the blocks that
there are, at its own level. Where more than {percent(MAX_FAILED_SHARE, 0)} % of the blocks
failed there is no verdict: whether they failed for what they would have shown, nobody knows. All
this is of failures that do not depend on the value.
"""


SECTION: Final = Section("failures", _simulate, _told, _lines)
