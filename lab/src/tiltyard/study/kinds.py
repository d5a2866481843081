"""Of which kind each system of a study is: named, or told by the settings that it uses."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, JsonValue

from tiltyard.study.locate import KeyPath
from tiltyard.study.model import Clock
from tiltyard.study.problems import FLAWS_MAX, Flaw, not_a, one_of, shown
from tiltyard.study.program import SERVICE
from tiltyard.study_path import perhaps

# The levels of a factor: each sets one setting, or several at once.
#
# A factor that bears the name of a setting varies that setting. Any other name stands for a bundle:
# each level is a table of the settings that go together::
#
#     [factors.setup]
#     "ext4 here"  = { filesystem = "ext4" }
#     "disk there" = { kind = "remote", host = "user@b", directory = "/srv" }

_INSTEAD_OF_SERVICE: Final = (
    "Fix: servers = [{ command = […], ready = { … } }] in the [[workload]] of its client; they run "
    "where the client does, and end with it"
)
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


class Kind(Protocol):
    """What a study needs to know of an entry of :data:`tiltyard.systems.KINDS`."""

    @property
    def name(self) -> str:
        """As ``systems.kind`` names it."""

    @property
    def target(self) -> Literal["directory", "far"]:
        """What trials on its systems work on."""

    @property
    def placed(self) -> bool:
        """Whether hosts of a placement can have its systems."""

    @property
    def elsewhere(self) -> bool:
        """Whether trials on its systems are carried out on another host, or in a guest."""

    @property
    def far_host(self) -> bool:
        """Whether its server is on another host, which clients on further ones reach too."""

    def redraws(self, settings: Any, /) -> str:
        """What each turn of a system with these settings makes anew, in words."""

    def clock(self, settings: Any, /) -> Clock:
        """What the clock of a system with these settings counts."""

    def programs(self, settings: Any, /) -> str:
        """Why no program can be executed on a system with these settings; empty: it can be."""

    @property
    def Settings(self) -> type[BaseModel]:  # noqa: N802  it is a class
        """The model of its settings; fields carry descriptions."""


HOST: Final = "host"
"""The kind of systems that nothing is set of, where programs are executed."""
KIND: Final = "kind"
"""Stands among the settings, and says which kind's they are."""


def names_of(kinds: Sequence[Kind]) -> Set[str]:
    """All that can be set of any kind of system, the kind itself included."""
    return {KIND}.union(*(_settings(kind) for kind in kinds))


def kinds_of(
    systems: Sequence[Mapping[str, Given]], kinds: Sequence[Kind], flaws: list[Flaw]
) -> list[Kind | None]:
    """The kind of each system: the one that is named, else told by the settings in use.

    Systems that name none are of one kind if there is one for all of them: ``{}`` beside
    ``{ mtu = 9000 }`` is a pair too. Otherwise each is of the first kind that has its settings.

    Returns:
        One for each system; ``None``, with flaws added, where there is none.
    """
    common = _common([system for system in systems if KIND not in system], kinds)
    return [
        common if common and KIND not in system else _kind_of(system, kinds, flaws)
        for system in systems
    ]


def same_target(
    systems: Sequence[Mapping[str, Given]], kinds: Sequence[Kind | None], flaws: list[Flaw]
) -> Kind | None:
    """A kind whose trials work on what those of all systems work on.

    Returns:
        ``None`` if that is not known, or, with a flaw added, if they do not agree.
    """
    found = [kind for kind in kinds if kind is not None]
    for system, kind in zip(systems, kinds, strict=True):
        if kind is not None and kind.target != found[0].target:
            text = (
                f"systems of kind {kind.name} have {TARGETS[kind.target]}, those of kind "
                f"{found[0].name} {TARGETS[found[0].target]}: no workload could run on both"
            )
            flaws.append(Flaw(_telling(system, found[0]), text))
            return None
    return found[0] if found else None


TARGETS: Final = {"directory": "a directory to work in", "far": "a network server"}
"""What trials work on, in words."""


def _common(systems: Sequence[Mapping[str, Given]], kinds: Sequence[Kind]) -> Kind | None:
    """The first kind that has all settings of all systems, if none of them lacks one it needs."""
    used = {key for system in systems for key in system}
    fitting = next((kind for kind in kinds if used <= _settings(kind)), None)
    if fitting is None:
        return None
    fields = fitting.Settings.model_fields
    needed = {name for name, field in fields.items() if field.is_required()}
    return fitting if all(needed <= system.keys() for system in systems) else None


def _kind_of(system: Mapping[str, Given], kinds: Sequence[Kind], flaws: list[Flaw]) -> Kind | None:
    """The named kind, or the first of those that have all settings of a system."""
    if named := system.get(KIND):
        kinds = [kind for kind in kinds if kind.name == named.value] or _no_kind(
            named, kinds, flaws
        )
    used = system.keys() - {KIND}
    if len(flaws) >= FLAWS_MAX:
        return None
    fitting = [kind for kind in kinds if used <= _settings(kind)]
    if fitting:
        return fitting[0]
    if kinds:
        told = {flaw.path for flaw in flaws}
        flaws.extend(flaw for flaw in _unfitting(system, kinds, used) if flaw.path not in told)
    return None


def _no_kind(named: Given, kinds: Sequence[Kind], flaws: list[Flaw]) -> Sequence[Kind]:
    """No kinds to choose from, and the flaw that says why."""
    text = not_a(named.value, "kind", (kind.name for kind in kinds))
    flaws.append(Flaw(named.path, text))
    return ()


def _settings(kind: Kind) -> Set[str]:
    """Names of the settings of a kind."""
    return kind.Settings.model_fields.keys()


def _telling(system: Mapping[str, Given], other: Kind) -> KeyPath:
    """Where it stands that a system is not of that kind."""
    keys = (given.key for key, given in system.items() if key not in _settings(other))
    return next(keys, ("factors",))


def _unfitting(
    system: Mapping[str, Given], kinds: Sequence[Kind], used: Set[str]
) -> Iterator[Flaw]:
    """A flaw for each key that is in the way of the kinds that come nearest."""
    most = max(len(used & _settings(kind)) for kind in kinds)
    nearest = [kind for kind in kinds if len(used & _settings(kind)) == most]
    known = {key: None for kind in nearest for key in _settings(kind)}
    unknown = used - known.keys()
    for key in sorted(unknown or used - _settings(nearest[0]))[:FLAWS_MAX]:
        if unknown and (not most or len(nearest) == len(kinds) > 1):
            every = ", ".join(kind.name for kind in kinds)
            text = f"no kind of system has such a setting ({every}).{perhaps(key, known)}"
        elif unknown:
            names = " or ".join(kind.name for kind in nearest)
            right = _INSTEAD_OF_SERVICE if key == SERVICE else one_of(key, known)
            text = f"there is no such setting of {names}. {right}"
        else:
            served = " with a service" if SERVICE in used else ""
            text = f"is not a setting of {nearest[0].name}{served}; a system is of one kind"
        yield Flaw(system[key].key, text)
