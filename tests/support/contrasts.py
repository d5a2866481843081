"""Two systems, b over a, with hand-made ratios: contrasts whose numbers one can check by eye."""

from collections.abc import Sequence

import numpy as np

from tiltyard.analysis.contrast import Judged
from tiltyard.analysis.judging import judge
from tiltyard.analysis.quantity import Direction, Quantity
from tiltyard.plan.model import Design, Look
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.sequential import looks, overall_alpha

FASTER = (1.30, 1.34, 1.24, 1.31, 1.39, 1.29, 1.33)
"""Seven blocks: at the first look the interval is their range, 24–39 %."""


def design_of(
    profile: str = "standard", blocks: int | None = None, equivalent_within: float = 0.02
) -> Design:
    """The rules of a profile."""
    return Design(
        profile=profile,
        strict=False,
        looks=tuple(Look(blocks=n, c=c) for n, c in looks(profile, False, blocks)),
        alpha=overall_alpha(profile, False, blocks),
        equivalent_within=equivalent_within,
        false_discovery_rate=0.05,
    )


def quantity_of(
    ratios: Sequence[float],
    direction: Direction = "higher",
    failed: Sequence[int] = (),
    unit: str = "B/s",
    topic: str = "the work",
) -> Quantity:
    """Values of a are 1; the blocks in ``failed`` were attempted but have no value of b."""
    log_values = np.zeros((len(ratios), 2))
    log_values[:, 1] = np.log(ratios)
    log_values[list(failed), 1] = np.nan
    attempted = np.ones((len(ratios), 2), dtype=np.bool_)
    return Quantity(topic, unit, direction, 1, log_values, attempted)


def judged(quantity: Quantity, design: Design | None = None, to_come: int | None = None) -> Judged:
    """The quantity judged as a family of its own."""
    rules = design or design_of()
    return judge([quantity], ["a", "b"], rules, benjamini_hochberg, 0.05, to_come=to_come)[0]
