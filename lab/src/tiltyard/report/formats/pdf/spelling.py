"""Characters that no font at hand has, spelled by their numbers: nothing is left out in silence."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

Part = TypeVar("Part")


def spelled(document: Part, characters: Iterable[str]) -> Part:
    """A document, or any part of one, with ``[U+6F22]`` for each of these characters.

    Keys are spelled as well, so that what stands for a system stands for it still.

    Source: the notation of The Unicode Standard, appendix A.1.
    """
    spellings = {ord(one): f"[U+{ord(one):04X}]" for one in characters}
    changed: Part = _spelled(document, spellings)  # type: ignore[assignment]
    return changed


def _spelled(part: object, spellings: Mapping[int, str]) -> object:
    match part:
        case str():
            return part.translate(spellings)
        case tuple() | list():
            return type(part)(_spelled(one, spellings) for one in part)
        case dict():
            return {_spelled(key, spellings): _spelled(one, spellings) for key, one in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        own = {one.name: getattr(part, one.name) for one in fields(part)}
        return replace(part, **{name: _spelled(one, spellings) for name, one in own.items()})
    return part
