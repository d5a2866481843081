"""One system against another in one quantity: evidence, correction, verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tiltyard.analysis.model import Verdict
from tiltyard.analysis.quantity import Quantity, pairs_of
from tiltyard.plan.model import Design
from tiltyard.stats.sequential import RepeatedInterval, repeated_interval
from tiltyard.stats.types import BoolArray, FloatArray

MAX_FAILED_SHARE: Final = 0.2
"""With a larger share of failed blocks a comparison is invalid."""


@dataclass(frozen=True)
class Contrast:
    """System against another one, paired within blocks, on the log scale."""

    quantity: Quantity
    system: str
    against: str
    differences: FloatArray
    """``ln(system / against)`` of every block in which both have a value, in block order."""
    usable: BoolArray
    """Shape (blocks,): which blocks those are."""
    interval: RepeatedInterval | None
    failed: int
    """Blocks that were attempted by both, without a value of both."""
    p_adjusted: float | None = None
    verdict: Verdict = "undecided"

    @property
    def attempted(self) -> int:
        """Blocks in which both systems had their trial."""
        return len(self.differences) + self.failed

    @property
    def rested_on(self) -> FloatArray:
        """The differences that the interval rests on; none before the first look."""
        return self.differences[: self.interval.blocks if self.interval else 0]

    def reversed(self) -> "Contrast":
        """The same evidence, told from the other system's side."""
        flipped: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        interval = self.interval and replace(
            self.interval,
            estimate=-self.interval.estimate,
            low=-self.interval.high,
            high=-self.interval.low,
        )
        return replace(
            self,
            system=self.against,
            against=self.system,
            differences=-self.differences,
            interval=interval,
            verdict=flipped.get(self.verdict, self.verdict),
        )


@dataclass(frozen=True)
class Judged:
    """A quantity with its contrasts."""

    quantity: Quantity
    contrasts: tuple[Contrast, ...]
    """Every pair of systems once, as (later, earlier) in the order of the study."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system that takes part."""
        names = (name for found in self.contrasts for name in (found.against, found.system))
        return tuple(dict.fromkeys(names))

    def between(self, system: str, against: str) -> Contrast:
        """The contrast of two different systems, told from the first one's side."""
        for contrast in self.contrasts:
            if (contrast.system, contrast.against) == (system, against):
                return contrast
            if (contrast.system, contrast.against) == (against, system):
                return contrast.reversed()
        raise KeyError((system, against))


def judge(
    quantities: Sequence[Quantity],
    systems: Sequence[str],
    design: Design,
    adjust: Callable[[FloatArray], FloatArray],
    level: float,
) -> tuple[Judged, ...]:
    """Verdicts on every pair of systems in every quantity, corrected as one family.

    A comparison without an interval yet, or an invalid one, takes part in the correction with
    p = 1: the family is the one that was declared before the first trial.

    Args:
        quantities: what is compared; together with the pairs they are the family.
        systems: names, in the order of the study.
        design: the rules of the plan.
        adjust: p-values to adjusted ones, e.g. Benjamini–Hochberg's.
        level: adjusted p-values up to this one are rejections.
    """
    pairs = list(pairs_of(systems))
    found = [_observe(q, systems, pair, design) for q in quantities for pair in pairs]
    invalid = [_is_invalid(contrast, design) for contrast in found]
    p_values = [
        contrast.interval.p if contrast.interval and not bad else 1.0
        for contrast, bad in zip(found, invalid, strict=True)
    ]
    adjusted = adjust(np.array(p_values))
    rope = float(np.log1p(design.equivalent_within))
    decided = [
        replace(
            contrast,
            p_adjusted=float(p) if contrast.interval else None,
            verdict="invalid" if bad else verdict_of(contrast, rope, bool(p <= level)),
        )
        for contrast, p, bad in zip(found, adjusted, invalid, strict=True)
    ]
    return tuple(
        Judged(quantity, tuple(decided[start : start + len(pairs)]))
        for quantity, start in zip(quantities, range(0, len(decided), len(pairs)), strict=True)
    )


def verdict_of(contrast: Contrast, rope: float, rejected: bool) -> Verdict:
    """The verdict on one contrast.

    Equivalent when the whole interval is inside ``±rope`` (log scale); faster or slower when the
    interval excludes equality *and* equality is rejected within the family; else undecided.
    """
    interval = contrast.interval
    if interval is None:
        return "undecided"
    if -rope < interval.low and interval.high < rope:
        return "equivalent"
    if not rejected or interval.low <= 0 <= interval.high:
        return "undecided"
    more = interval.low > 0
    return "faster" if more == (contrast.quantity.direction == "higher") else "slower"


def _observe(
    quantity: Quantity, systems: Sequence[str], pair: tuple[int, int], design: Design
) -> Contrast:
    """The paired differences of one pair of systems, and the interval at the latest look."""
    later, earlier = pair
    paired = quantity.log_values[:, later] - quantity.log_values[:, earlier]
    usable = np.isfinite(paired)
    attempted = quantity.attempted[:, later] & quantity.attempted[:, earlier]
    differences = paired[usable]
    looks = tuple((look.blocks, look.c) for look in design.looks)
    return Contrast(
        quantity=quantity,
        system=systems[later],
        against=systems[earlier],
        differences=differences,
        usable=usable,
        interval=repeated_interval(differences, design.profile, looks),
        failed=int(np.count_nonzero(attempted & ~usable)),
    )


def _is_invalid(contrast: Contrast, design: Design) -> bool:
    """Too many blocks failed; asked only from the first look on, when shares mean something."""
    enough = contrast.attempted >= design.looks[0].blocks
    return enough and contrast.failed > MAX_FAILED_SHARE * contrast.attempted
