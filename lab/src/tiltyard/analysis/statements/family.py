"""The comparisons that are corrected together, and what their sentences need of all of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from tiltyard.analysis.contrast import Contrasts
from tiltyard.plan.model import Design
from tiltyard.plan.prospect import earliest_difference
from tiltyard.stats.planning import blocks_needed
from tiltyard.stats.sequential import LEVEL, RepeatedInterval

HOLM: Final = "Holm"
BENJAMINI_HOCHBERG: Final = "Benjamini–Hochberg"


class Needed(NamedTuple):
    """Blocks that decide with the chance of :data:`tiltyard.stats.planning.LIKELY`."""

    blocks: int | None
    """``None``: very many."""
    anew: bool
    """They are those of a new study, because the looks of this one are not enough."""


@dataclass(frozen=True)
class Family:
    """The comparisons that are corrected together."""

    size: int
    correction: str
    """``BENJAMINI_HOCHBERG``, or ``HOLM``: verdicts and intervals then hold together."""
    claimed: int = 0
    """Those that are decided to differ."""
    _open: Callable[[], Sequence[RepeatedInterval]] = field(default=tuple, repr=False)
    """Those that are undecided."""
    _needed: dict[RepeatedInterval, Needed] = field(default_factory=dict, repr=False)
    """Blocks of a decision, foreseen for all open comparisons when somebody asks for those of
    one: one by one is slow, and a decision about the next block asks for none."""

    @classmethod
    def of(cls, judged: Contrasts, correction: str, size: int | None = None) -> "Family":
        """The family of these contrasts; of ``size``, where it has others that are not here."""
        verdict = judged.columns["verdict"]
        claimed = int(((verdict == "faster") | (verdict == "slower")).sum())
        open_ = partial(judged.intervals, verdict == "undecided")
        return cls(len(judged) if size is None else size, correction, claimed, open_)

    def next_level(self, design: Design) -> float:
        """Error rate over all looks at which one more comparison would be claimed."""
        if self.correction == HOLM:
            return LEVEL / max(1, self.size - self.claimed)
        return min(LEVEL, design.false_discovery_rate * (self.claimed + 1) / max(1, self.size))

    def first_look(self, design: Design) -> int | None:
        """Blocks of the first look that has an interval for this family; ``None``: no look has."""
        comparisons = self.size if self.correction == HOLM else 1
        return earliest_difference(design, comparisons)

    def needed(self, interval: RepeatedInterval, design: Design) -> Needed:
        """Blocks of a likely decision: by a look that is to come, else of a new study."""
        if interval not in self._needed:
            others = () if self._needed else self._open()
            asked = tuple(dict.fromkeys((*others, interval)))
            rules = (math.log1p(design.equivalent_within), self.next_level(design))
            going_on = blocks_needed(design.spending, asked, *rules)
            new_study = blocks_needed(design.spending, asked, *rules, anew=True)
            last = design.looks[-1].blocks
            self._needed.update(
                (one, Needed(on, anew=False) if on and on <= last else Needed(new, anew=True))
                for one, on, new in zip(asked, going_on, new_study, strict=True)
            )
        return self._needed[interval]
