"""Names of sheets: at most 31 characters, unique whatever their case."""

import re
from collections.abc import Sequence
from typing import Final

SUMMARY: Final = "Overview"
TEXT: Final = "Text"
VALUES: Final = "Values"

_LONGEST = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\'\x00-\x1f]")
_TAKEN = (SUMMARY, TEXT, VALUES, "History")
"""Our own; and one that Excel keeps for itself."""


def sheet_names(ids: Sequence[str]) -> list[str]:
    """One name for each id, as much of it as there is room for."""
    taken = {name.lower() for name in _TAKEN}
    names = []
    for own in ids:
        name = _unique(_FORBIDDEN.sub("-", own).strip() or "table", taken)
        taken.add(name.lower())
        names.append(name)
    return names


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted[:_LONGEST].rstrip("-"), 1
    while name.lower() in taken:
        number += 1
        suffix = f"~{number}"
        name = wanted[: _LONGEST - len(suffix)].rstrip("-") + suffix
    return name


def reference(name: str) -> str:
    """A name as formulas of charts and links want it."""
    return f"'{name}'"
