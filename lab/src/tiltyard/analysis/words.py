"""One comparison as one sentence. Every sentence is made of a contrast, of nothing else."""

import math
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.amounts import (
    Scale,
    compatible,
    coverage,
    is_extended,
    nearest_first,
    scale_of_difference,
    scale_of_doubt,
)
from tiltyard.analysis.contrast import Contrast
from tiltyard.plan.model import Design
from tiltyard.plan.path_length import PATH_LENGTH
from tiltyard.plan.prospect import earliest_difference
from tiltyard.stats.planning import LIKELY, MANY_BLOCKS, blocks_needed
from tiltyard.stats.sequential import LEVEL, RepeatedInterval

SAME: Final = 1e-9
"""On the log scale: an interval of no more width is of differences that are all the same."""

HOLM: Final = "Holm"
BENJAMINI_HOCHBERG: Final = "Benjamini–Hochberg"


@dataclass(frozen=True)
class Family:
    """The comparisons that are corrected together."""

    size: int
    correction: str
    """``BENJAMINI_HOCHBERG``, or ``HOLM``: verdicts and intervals then hold together."""
    claimed: int = 0
    """Those that are decided to differ."""

    def next_level(self, design: Design) -> float:
        """Error rate over all looks at which one more comparison would be claimed."""
        if self.correction == HOLM:
            return LEVEL / max(1, self.size - self.claimed)
        return min(LEVEL, design.false_discovery_rate * (self.claimed + 1) / max(1, self.size))

    def first_look(self, design: Design) -> int | None:
        """Blocks of the first look that has an interval for this family; ``None``: no look has."""
        comparisons = self.size if self.correction == HOLM else 1
        return earliest_difference(design, comparisons)


def sentence(contrast: Contrast, design: Design, family: Family) -> str:
    """The verdict in words, with its interval and number of blocks."""
    interval = contrast.interval
    if contrast.withheld:
        return _withheld(contrast)
    if contrast.verdict == "invalid":
        return _invalid(contrast, design)
    if interval is None:
        return _too_early(contrast, design, family)
    if contrast.verdict == "undecided" and contrast.fails_too_often:
        return _failing(contrast, design)
    if contrast.verdict == "equivalent":
        return _equivalent(contrast, interval, design)
    if contrast.verdict == "undecided":
        return _undecided(contrast, interval, design, family)
    return _different(contrast, interval, design)


def _withheld(contrast: Contrast) -> str:
    return (
        f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}: "
        f"{contrast.verdict}; {contrast.withheld}."
    )


def _invalid(contrast: Contrast, design: Design) -> str:
    return (
        f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}: invalid; "
        f"{_failures(contrast, design)}."
    )


def _failing(contrast: Contrast, design: Design) -> str:
    return (
        f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}: undecided; "
        f"{_failures(contrast, design)}, too many for a verdict unless further "
        f"{design.unit}s succeed."
    )


def _failures(contrast: Contrast, design: Design) -> str:
    share_percent = 100 * contrast.failed / contrast.attempted
    return (
        f"{contrast.failed} of {contrast.attempted} {design.unit}s ({share_percent:.0f} %) failed"
    )


def _too_early(contrast: Contrast, design: Design, family: Family) -> str:
    head = f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}: undecided; "
    first, done = family.first_look(design), len(contrast.differences)
    if first is None:
        last = design.looks[-1].blocks
        return f"{head}{design.amount(last)} are too few for {family.size} simultaneous intervals."
    there = f"{done} {design.unit}s of {first}"
    if first > design.looks[0].blocks:
        return f"{head}{there} that {family.size} simultaneous intervals need."
    return f"{head}{there} that the first look needs."


def _equivalent(contrast: Contrast, interval: RepeatedInterval, design: Design) -> str:
    low, high = math.exp(interval.low), math.exp(interval.high)
    detected = ""
    if not interval.low <= 0 <= interval.high:
        size = scale_of_doubt(low, high).signed(math.exp(interval.estimate))
        detected = f"; a difference of {size} % was detected"
    return (
        f"{contrast.system} and {contrast.against} are equivalent within "
        f"{100 * design.equivalent_within:g} % in {contrast.quantity.topic} "
        f"({coverage(interval.level)} interval {compatible(low, high)}, "
        f"{design.amount(interval.blocks)}){detected}."
    )


def _undecided(
    contrast: Contrast, interval: RepeatedInterval, design: Design, family: Family
) -> str:
    head = (
        f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}: "
        f"undecided after {design.amount(interval.blocks)}; "
    )
    low, high = math.exp(interval.low), math.exp(interval.high)
    compatible_with = f"{head}anything from {compatible(low, high)} is compatible"
    level = f"{coverage(interval.level)} interval"
    if is_extended(low, high, interval.p, interval.level):
        return (
            f"{compatible_with} ({level}, extended to equality): not significant after correction "
            f"for {family.size} comparisons ({family.correction})."
        )
    compatible_with = f"{compatible_with} ({level}); "
    if contrast.futile:
        return f"{compatible_with}stopped there, because {_too_many(interval, design, family)}."
    return f"{compatible_with}{outlook(interval, design, family)}."


def _too_many(interval: RepeatedInterval, design: Design, family: Family) -> str:
    """Why more blocks were not made."""
    needed = _needed(interval, design, family)
    blocks = f"more than {MANY_BLOCKS}" if needed is None else f"≈ {needed}"
    return (
        f"a decision needs {blocks} {design.unit}s ({100 * LIKELY:.0f} % chance) and the last look "
        f"is after {design.looks[-1].blocks}"
    )


def _needed(interval: RepeatedInterval, design: Design, family: Family) -> int | None:
    rope = math.log1p(design.equivalent_within)
    return blocks_needed(design.spending, interval, rope, family.next_level(design))


def outlook(interval: RepeatedInterval, design: Design, family: Family) -> str:
    """How many more blocks are needed for a decision."""
    needed = _needed(interval, design, family)
    if needed is None:
        return f"more than {MANY_BLOCKS} more {design.unit}s needed ({100 * LIKELY:.0f} % chance)"
    return f"≈ {needed - interval.blocks} more {design.unit}s needed ({100 * LIKELY:.0f} % chance)"


def _different(contrast: Contrast, interval: RepeatedInterval, design: Design) -> str:
    """``xfs is at least 3.1 % faster than ext4 in … (estimate 5.0 %, …)``."""
    low, high = math.exp(interval.low), math.exp(interval.high)
    scale = scale_of_difference(low, high)
    nearest, farthest = nearest_first(low, high)
    size = scale.amount(math.exp(interval.estimate))
    evidence = (
        f"{coverage(interval.level)} interval {scale.number(nearest)} to {scale.amount(farthest)}, "
        f"{design.amount(interval.blocks)}"
    )
    topic = contrast.quantity.topic
    if interval.high - interval.low <= SAME:
        claim = _claim(contrast, f"exactly {size}", scale)
        return f"{claim} in {topic}, the same in each of {design.amount(interval.blocks)}."
    if abs(math.log(nearest)) >= math.log1p(design.equivalent_within):
        claim = _claim(contrast, f"at least {scale.amount(nearest)}", scale)
        return f"{claim} in {topic} (estimate {size}, {evidence})."
    return (
        f"{_claim(contrast, size, scale)} in {topic} ({evidence}); it may be smaller than the "
        f"{100 * design.equivalent_within:g} % that count as a difference."
    )


def _claim(contrast: Contrast, amount: str, scale: Scale) -> str:
    """Who is better, and by how much: speeds are faster or slower, times are less or more.

    Instructions are fewer or more.
    """
    system, against = contrast.system, contrast.against
    if contrast.quantity.unit == PATH_LENGTH:
        if scale.factor:
            return f"{system} needs {amount} as many instructions per operation as {against}"
        word = "fewer" if contrast.verdict == "faster" else "more"
        return f"{system} needs {amount} {word} instructions per operation than {against}"
    if contrast.quantity.direction == "higher":
        if scale.factor:
            return f"{system} is {amount} as fast as {against}"
        return f"{system} is {amount} {contrast.verdict} than {against}"
    if scale.factor:
        return f"{system} takes {amount} the time of {against}"
    word = "less" if contrast.verdict == "faster" else "more"
    return f"{system} takes {amount} {word} time than {against}"
