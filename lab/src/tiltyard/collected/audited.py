"""What came of holding a claim against the numbers."""

from typing import Literal

from tiltyard.frozen import Frozen

Outcome = Literal["follows", "rounding", "contradicted", "open"]
"""``follows``: to the last printed digit. ``rounding``: within what rounded numbers leave possible,
or by rounding twice.
``contradicted``: not by any numbers that round to the printed ones. ``open``: the printed data
cannot decide it."""


class Audited(Frozen):
    """One claim of a printed study with what its own numbers say."""

    id: str
    """Unique in the study: ``fig1-ext4-in-cache-delta``."""
    where: str
    """``page 4, first paragraph``; ``figure 1``."""
    kind: str
    """Name of the test that it was held against."""
    claim: str
    """As it was printed."""
    stated: str
    """The number or the order that it states: ``38.4 %``."""
    found: str
    """The same from the tables: ``33.4 %``; empty where they cannot say."""
    outcome: Outcome
    sentence: str
    """What follows, in words, with the numbers it rests on."""
