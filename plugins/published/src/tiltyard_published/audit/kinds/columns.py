"""Ranges of columns that are cut out of a line."""

import re
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from tiltyard.frozen import Frozen
from tiltyard.study.problems import shown
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Scene

_RANGE: Final = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")


def _range(typed: str) -> str:
    match = _RANGE.fullmatch(typed)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f'{shown(typed)} is not a range of columns. Write it like "17-24"')
    return typed


Range = Annotated[str, AfterValidator(_range)]


class States(Frozen):
    """Fields that a script separates."""

    fields: int = Field(ge=1, strict=True, description="How many fields it is said to separate.")
    besides: int = Field(0, ge=0, description="Leading ranges that are not among them.")
    ranges: tuple[Range, ...] = Field(min_length=1, description="As printed.")


def _hold(states: States, _scene: Scene) -> Held:
    count = len(states.ranges) - states.besides
    told = f"{count} ranges after the first {states.besides}"
    found, sentence = told, f"There are {told}"
    joined = _joined(states.ranges)
    if joined:
        groups = "; ".join(", ".join(group) for group in joined)
        found += f", {groups} overlap"
        sentence += f", but {groups} overlap and come out as one"
    follows = count == states.fields and not joined
    return Held(
        "follows" if follows else "contradicted", f"{states.fields} fields", found, f"{sentence}."
    )


def _joined(ranges: Sequence[str]) -> list[list[str]]:
    """Ranges that share a column, directly or by others; in their order."""
    groups: list[list[str]] = []
    end = 0
    for text in sorted(ranges, key=_bounds):
        first, last = _bounds(text)
        if groups and first <= end:
            groups[-1].append(text)
        else:
            groups.append([text])
        end = max(end, last)
    return [sorted(group, key=ranges.index) for group in groups if len(group) > 1]


def _bounds(text: str) -> tuple[int, int]:
    first, last = map(int, text.split("-"))
    return first, last


KIND = Kind(
    name="columns",
    about="that ranges of columns are as many as stated and do not overlap",
    states=States,
    hold=_hold,
)
