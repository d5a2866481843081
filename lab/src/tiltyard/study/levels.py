"""The levels of a factor: each sets one setting, or several at once.

A factor that bears the name of a setting varies that setting. Any other name stands for a bundle:
each level is a table of the settings that go together::

    [factors.setup]
    "ext4 here"  = { filesystem = "ext4" }
    "disk there" = { kind = "remote", host = "user@b", directory = "/srv" }
"""

from collections.abc import Set
from dataclasses import dataclass

from pydantic import JsonValue

from tiltyard.study.locate import KeyPath
from tiltyard.study.problems import Flaw, perhaps, shown

UNSPOKEN = "default"
"""A level of this name is left out of the names of systems."""


@dataclass(frozen=True)
class Given:
    """A setting as it stands in the file."""

    value: JsonValue
    key: KeyPath
    """Where its key stands."""
    path: KeyPath
    """Where its value stands: for a factor that is one setting, each level has a value."""


@dataclass(frozen=True)
class Level:
    """One level of a factor."""

    factor: str
    name: str
    path: KeyPath
    settings: dict[str, Given]
    """What it sets: one setting, or those of a bundle, which may be none."""
    is_bundle: bool = False


def levels_of(
    factor: str,
    typed: list[JsonValue] | dict[str, JsonValue],
    known: Set[str],
    flaws: list[Flaw],
) -> list[Level]:
    """The levels of a factor, named by themselves (list) or explicitly (table).

    Args:
        factor: its name.
        typed: the levels as they stand in the file.
        known: all that a level can set, of any kind of system.
        flaws: what is wrong is added here.
    """
    path = ("factors", factor)
    if not typed:
        flaws.append(Flaw(path, "has no levels; give it two or more"))
        return []
    if isinstance(typed, list):
        found = _named_by_value(factor, typed, flaws)
    elif _is_bundle(factor, typed, known):
        found = _bundle(factor, typed, flaws)
    else:
        found = [_single(factor, name, value, (*path, name)) for name, value in typed.items()]
    for level in found:
        if not level.name.isprintable() or level.name.strip() != level.name or not level.name:
            text = f"{shown(level.name)} cannot name a level: it is printed in one line of a report"
            flaws.append(Flaw(level.path, text))
    return found


def _is_bundle(factor: str, typed: dict[str, JsonValue], known: Set[str]) -> bool:
    """Whether the levels are tables of settings, and not values of a mistyped setting."""
    if factor in known:
        return False
    tables = [value for value in typed.values() if isinstance(value, dict)]
    if any(known & table.keys() for table in tables):
        return True
    return len(tables) == len(typed) and not perhaps(factor, known)


def _bundle(factor: str, typed: dict[str, JsonValue], flaws: list[Flaw]) -> list[Level]:
    """Levels that set several settings each."""
    levels = []
    for name, value in typed.items():
        path = ("factors", factor, name)
        if not isinstance(value, dict):
            text = (
                f"{shown(value)} is not a table, as other levels are: "
                f"{factor} is not a setting, so each level says what it sets, {{ key = value }}"
            )
            flaws.append(Flaw(path, text))
            continue
        given = {key: Given(each, (*path, key), (*path, key)) for key, each in value.items()}
        levels.append(Level(factor, name, path, given, is_bundle=True))
    return levels


def _single(factor: str, name: str, value: JsonValue, path: KeyPath) -> Level:
    """A level that sets the setting which the factor is named after."""
    return Level(factor, name, path, {factor: Given(value, ("factors", factor), path)})


def _named_by_value(factor: str, values: list[JsonValue], flaws: list[Flaw]) -> list[Level]:
    """Levels whose names are their values' own text."""
    levels: dict[str, Level] = {}
    for place, value in enumerate(values):
        path = ("factors", factor, place)
        name = value if isinstance(value, str) else shown(value)
        if isinstance(value, list | dict):
            text = (
                f"a level like {shown(value)} needs a name: {factor} = {{ name = {shown(value)} }}"
            )
            flaws.append(Flaw(path, text))
        elif name in levels:
            text = (
                f"{shown(value)} is in the list twice. To compare it with itself, name the levels: "
                f"{factor} = {{ a = {shown(value)}, b = {shown(value)} }}"
            )
            flaws.append(Flaw(path, text))
        else:
            levels[name] = _single(factor, name, value, path)
    return list(levels.values())
