"""What is stated of disturbed blocks."""

from tiltyard.frozen import Frozen


class SensitivityLine(Frozen):
    """A headline comparison with the disturbed blocks put back."""

    label: str
    without: str
    with_spoiled: str
    changed: bool
    """Whether the verdict would be another one."""


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
