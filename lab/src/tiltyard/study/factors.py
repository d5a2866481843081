"""From factors to systems: every combination of levels is one system."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from tiltyard.study.file import StudyFile
from tiltyard.study.kinds import Kind
from tiltyard.study.locate import KeyPath
from tiltyard.study.model import SystemSpec
from tiltyard.study.problems import Flaw, shown
from tiltyard.study.wording import flaws_of

UNSPOKEN = "default"
"""A level of this name is left out of the names of systems."""


@dataclass(frozen=True)
class Level:
    """One value of a factor."""

    factor: str
    name: str
    value: JsonValue
    path: KeyPath
    """Where the value stands in the file."""


def lift_systems(file: StudyFile, kind: Kind | None, flaws: list[Flaw]) -> tuple[SystemSpec, ...]:
    """All combinations of levels, the first factor varying slowest; flaws are added to the list."""
    before = len(flaws)
    factors = [_levels(factor, typed, flaws) for factor, typed in file.factors.items()]
    for key in file.factors.keys() & file.systems.settings.keys():
        text = "is a factor as well; take it out of [systems], or out of [factors]"
        flaws.append(Flaw(("systems", key), text))
    if kind is None or len(flaws) > before:
        return ()
    systems = [
        system
        for levels in itertools.product(*factors)
        if (system := _system(kind, file.systems.settings, levels, flaws)) is not None
    ]
    if len(flaws) == before:
        _check_distinct(systems, flaws)
    return tuple(systems)


def _levels(
    factor: str, typed: list[JsonValue] | dict[str, JsonValue], flaws: list[Flaw]
) -> list[Level]:
    """The levels of a factor: named by themselves (list) or explicitly (table)."""
    path = ("factors", factor)
    if not typed:
        flaws.append(Flaw(path, "has no levels; give it two or more"))
        return []
    if isinstance(typed, dict):
        named = [Level(factor, name, value, (*path, name)) for name, value in typed.items()]
    else:
        named = _named_by_value(factor, typed, flaws)
    for level in named:
        if not level.name.isprintable() or level.name.strip() != level.name or not level.name:
            text = f"{shown(level.name)} cannot name a level: it is printed in one line of a report"
            flaws.append(Flaw(level.path, text))
    return named


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
            levels[name] = Level(factor, name, value, path)
    return list(levels.values())


def _system(
    kind: Kind, shared: dict[str, JsonValue], levels: Sequence[Level], flaws: list[Flaw]
) -> SystemSpec | None:
    """One combination of levels; ``None``, with flaws added, if its settings are not right."""
    varied = {level.factor: level for level in levels}
    typed = {**shared, **{factor: level.value for factor, level in varied.items()}}
    try:
        settings = kind.Settings.model_validate(typed)
    except ValidationError as error:
        for flaw in flaws_of(error, kind.Settings):
            setting, *inside = flaw.path or ("",)
            level = varied.get(str(setting))
            path = (*level.path, *inside) if level else ("systems", *flaw.path)
            flaws.append(Flaw(path, flaw.text))
        return None
    spoken = [level.name for level in levels if level.name != UNSPOKEN]
    return SystemSpec(
        name=" ".join(spoken) or UNSPOKEN,
        levels={level.factor: level.name for level in levels},
        kind=kind.name,
        settings=settings.model_dump(mode="json"),
        redraws=kind.redraws(settings),
    )


def _check_distinct(systems: Sequence[SystemSpec], flaws: list[Flaw]) -> None:
    """There are two systems at least, and a name means one of them."""
    if len(systems) == 1:
        text = "there is nothing to compare: give one factor two levels or more"
        flaws.append(Flaw(("factors",), text))
    for name, times in Counter(system.name for system in systems).items():
        if times > 1:
            text = f'{times} systems would be called "{name}"; give the levels different names'
            flaws.append(Flaw(("factors",), text))
