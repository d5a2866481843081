"""Names of systems: those that a report can print, and the levels that they stand for."""

from collections.abc import Sequence
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.importers.reading import shown
from tiltyard.units import count_of

MOST_SYSTEMS: Final = 64
"""More are not compared with each other in one study."""
LONGEST_NAME: Final = 80


def named_or_fail(systems: Sequence[str]) -> None:
    """Refuse names that cannot stand in one line of a report, and too many of them.

    Raises:
        UsageError: if there is one, or more than :data:`MOST_SYSTEMS`.
    """
    for name in systems:
        if not name or not name.isprintable() or name != name.strip() or len(name) > LONGEST_NAME:
            raise UsageError(
                f"{shown(name)} cannot name a system: a name is one line of 1 to {LONGEST_NAME} "
                "characters, without blanks around it"
            )
    if len(systems) > MOST_SYSTEMS:
        raise UsageError(
            f"{count_of(len(systems), 'system')}; at most {MOST_SYSTEMS} are compared in one "
            "study. Give fewer "
            "files, or import into several folders"
        )


def levels_of(systems: Sequence[str], factors: Sequence[str]) -> dict[str, dict[str, str]]:
    """System → factor → level: the parts of its name between slashes, or the name as a whole.

    Raises:
        UsageError: if a name has not as many parts as there are factors.
    """
    if not factors:
        return {name: {"system": name} for name in systems}
    levels = {}
    for name in systems:
        parts = [part.strip() for part in name.split("/")]
        if len(parts) != len(factors) or not all(parts):
            example = "/".join(factor.upper() for factor in factors)
            raise UsageError(
                f'"{name}" should have {len(factors)} parts, one for each factor: {example}=FILE'
            )
        levels[name] = dict(zip(factors, parts, strict=True))
    return levels
