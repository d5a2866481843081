"""What is stated of disturbed blocks."""

from typing import Final

from tiltyard.frozen import Frozen

RELATED_LEVEL: Final = 0.1
"""Below this p-value of Fisher's test interference is called related to the system. Few disturbed
blocks, all on one side, cannot be much rarer by chance."""


class SensitivityLine(Frozen):
    """A headline comparison with the disturbed blocks put back."""

    label: str
    without: str
    with_spoiled: str
    changed: bool
    """Whether the verdict would be another one."""
    too_few: bool = False
    """Whether too few blocks are left without them for any verdict: then nothing is said of it."""


class Spoiled(Frozen):
    """Blocks that gates have spoiled."""

    blocks: tuple[int, ...]
    share: float
    """Of all blocks that were run."""
    reasons: dict[int, tuple[str, ...]]
    by_system: dict[str, int]
    """How many of them a trial of that system spoiled."""
    related_p: float | None
    """Fisher's exact test of spoiling against system; ``None`` where nothing can be told."""
    sensitivity: tuple[SensitivityLine, ...]
    sentence: str
