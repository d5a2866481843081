"""Numbers that a printed study calculated from its own: to be shown, and to be checked."""

from typing import Literal

from pydantic import Field

from tiltyard.collected.model import Finite, PrintedAs
from tiltyard.frozen import Frozen

Kind = Literal["geometric-mean", "mean", "advantage"]
"""``geometric-mean`` and ``mean`` (arithmetic): over all cells of a workload. ``advantage``: how
far one system is ahead of another, as a share of the other: of a rate system / against − 1, of a
time 1 − system / against."""


class Derived(Frozen):
    """One such number, as it was printed."""

    id: str
    """Unique in the study: ``figure-1-in-cache-ext4-optimized``."""
    where: str
    """``figure 1``."""
    kind: Kind
    workload: str
    metric: str
    system: str
    against: str | None = None
    """The other system of an advantage."""
    of: Kind | None = None
    """What an advantage compares: printed means of that kind; ``None`` for the values at ``at``."""
    at: dict[str, int | str] = Field(default_factory=dict)
    """The one point that an advantage is about; empty for all that is over the whole grid."""
    text: str
    """The digits as printed: ``65.2``."""
    value: Finite
    """In base units; an advantage as a share: 0.652."""
    printed: PrintedAs
