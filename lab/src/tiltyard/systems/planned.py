"""What a dry run tells of a turn."""

from dataclasses import dataclass
from typing import Final

END_OF_RUN: Final = "at the end of the run"


@dataclass(frozen=True)
class PlannedPart:
    """What one part of a turn would execute."""

    system: str
    """Empty: of the end of the run."""
    part: str
    lines: tuple[str, ...]
    """Commands, and what is done without a command in words behind a ``#``."""
    refused: str = ""
    """Why it would not come up; empty if nothing is known against it."""
    disk_bytes: int = 0
    """Room on disks that it would take until the end of the run."""
