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
    with_disturbed: str
    changed: bool
    """Whether the verdict would be another one."""
    too_few: bool = False
    """Whether too few blocks are left without them for any verdict: then nothing is said of it."""


class DisturbedBlocks(Frozen):
    """Blocks in which something was beyond a noise limit."""

    blocks: tuple[int, ...]
    share: float
    """Of all blocks that were run."""
    reasons: dict[int, tuple[str, ...]]
    by_system: dict[str, int]
    """How many of them a trial of that system disturbed."""
    related_p: float | None
    """Fisher's exact test of disturbed turns against systems; ``None`` where it tells nothing."""
    sensitivity: tuple[SensitivityLine, ...]
    sentence: str
