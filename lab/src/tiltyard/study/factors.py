"""From factors to systems: every combination of levels is one system."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pydantic import JsonValue, ValidationError

from tiltyard.meant import perhaps
from tiltyard.study.bounds import SYSTEMS_MAX
from tiltyard.study.file import StudyFile
from tiltyard.study.kinds import KIND, UNSPOKEN, Given, Kind, Level, levels_of
from tiltyard.study.locate import KeyPath
from tiltyard.study.model import SystemSpec
from tiltyard.study.placeholders import partly_filled
from tiltyard.study.problems import FLAWS_MAX, Flaw, shown
from tiltyard.study.program import OF_SERVICE, SERVICE, Variable
from tiltyard.study.wording import flaws_of
from tiltyard.units import count_of


@dataclass(frozen=True)
class Combination:
    """One level of each factor: what a system is made of."""

    levels: tuple[Level, ...]
    settings: dict[str, Given]
    """What its levels and ``[systems]`` set; a kind, where one is named, is among them."""
    variables: dict[str, Given]
    """What they set beside that, for the commands of programs."""

    @property
    def home(self) -> KeyPath:
        """Where a setting that is missing would stand."""
        bundles = (level.path for level in self.levels if level.is_bundle)
        return next(bundles, ("systems",))


@dataclass(frozen=True)
class Keys:
    """What a level can set."""

    settings: Set[str]
    """Of any kind of system."""
    variables: Set[str] = frozenset()
    """For the commands of programs."""
    taken: Set[str] = frozenset()
    """Settings that stand in commands, and cannot be told from variables there."""


def combine(file: StudyFile, keys: Keys, flaws: list[Flaw]) -> tuple[Combination, ...]:
    """All combinations of levels, the first factor varying slowest.

    Args:
        file: the study.
        keys: what a level can set.
        flaws: what is wrong is added here.
    """
    before = len(flaws)
    settable = keys.settings | keys.variables
    factors = [levels_of(factor, typed, settable, flaws) for factor, typed in file.factors.items()]
    shared = {
        key: Given(value, ("systems", key), ("systems", key))
        for key, value in file.systems.settings.items()
    }
    if file.systems.kind is not None:
        shared[KIND] = Given(file.systems.kind, ("systems", KIND), ("systems", KIND))
    flaws.extend(_set_twice(shared, factors))
    if keys.variables or keys.taken:
        flaws.extend(_no_variables(shared, factors, keys))
    if (systems := math.prod(map(len, factors))) > SYSTEMS_MAX:
        text = (
            f"the levels combine to {count_of(systems, 'system')}, and no more than {SYSTEMS_MAX} "
            "can be "
            "compared; take out levels, or a factor"
        )
        flaws.append(Flaw(("factors",), text))
    if len(flaws) > before:
        return ()
    combinations = []
    for levels in itertools.product(*factors):
        given = _merged(shared, *(level.settings for level in levels))
        own = {key: given.pop(key) for key in keys.variables & given.keys()}
        combinations.append(Combination(levels, given, own))
    return tuple(combinations)


def services_in(file: StudyFile) -> list[JsonValue]:
    """The tables of servers of systems, as they are typed."""
    levels = [one for factor in file.factors.values() for one in _levels_of(factor)]
    found = [level[SERVICE] for level in levels if isinstance(level, dict) and SERVICE in level]
    found += _levels_of(file.factors.get(SERVICE, []))
    shared = file.systems.settings.get(SERVICE)
    return found if shared is None else [shared, *found]


def _levels_of(factor: list[JsonValue] | dict[str, JsonValue]) -> Iterable[JsonValue]:
    return factor.values() if isinstance(factor, dict) else factor


def lift_systems(
    combinations: Sequence[Combination],
    kinds: Sequence[Kind | None],
    flaws: list[Flaw],
    *,
    programs: bool = False,
) -> tuple[SystemSpec, ...]:
    """The systems that combinations of a kind each describe.

    Args:
        combinations: of levels.
        kinds: one for each; ``None``: not known.
        flaws: what is wrong is added here.
        programs: whether programs are executed on them.
    """
    before = len(flaws)
    systems = [
        system
        for combination, kind in zip(combinations, kinds, strict=True)
        if kind is not None
        and (system := _system(kind, combination, flaws, programs=programs)) is not None
    ]
    if combinations and None not in kinds and len(flaws) == before:
        _check_distinct(systems, flaws)
        _check_one_clock(systems, flaws)
    return tuple(systems)


def _set_twice(shared: dict[str, Given], factors: Sequence[Sequence[Level]]) -> Iterator[Flaw]:
    """A setting belongs to one factor, or to ``[systems]``; of a table each key does."""
    owners: dict[KeyPath, str] = {}
    for level in itertools.chain(*factors):
        for key, given in level.settings.items():
            for leaf in _leaves((key,), given.value):
                owner = _owner_of(leaf, owners)
                owners.setdefault(leaf, level.factor)
                if owner not in (None, level.factor):
                    text = f"is set by the factor {owner} as well; a setting belongs to one factor"
                    yield Flaw((*given.key, *leaf[1:]), text)
    for key, given in shared.items():
        for leaf in _leaves((key,), given.value):
            if (owner := _owner_of(leaf, owners)) is None:
                continue
            if owner == key:
                text = "is a factor as well; take it out of [systems], or out of [factors]"
            else:
                text = f"is set by the factor {owner} as well; take it out of one of them"
            yield Flaw((*given.key, *leaf[1:]), text)


def _leaves(path: KeyPath, value: JsonValue) -> Iterator[KeyPath]:
    """What a setting sets: itself, or each key of its table, whose dots may be tables."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves((*path, *key.split(".")), each)
    else:
        yield path


def _owner_of(leaf: KeyPath, owners: Mapping[KeyPath, str]) -> str | None:
    """The factor that sets it, what it is in, or what is in it."""
    if leaf in owners:
        return owners[leaf]
    return next((own for path, own in owners.items() if _overlap(path, leaf)), None)


def _overlap(path: KeyPath, other: KeyPath) -> bool:
    """Whether one is the other, or is in it."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def _merged(*tables: Mapping[str, Given]) -> dict[str, Given]:
    """Settings of several places; those that are tables have the keys of each."""
    found: dict[str, Given] = {}
    for key, given in itertools.chain.from_iterable(table.items() for table in tables):
        before = found.get(key)
        found[key] = given if before is None else replace(
            given, value=_joined(before.value, given.value)
        )  # fmt: skip
    return found


def _joined(before: JsonValue, value: JsonValue) -> JsonValue:
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    return {**before, **{key: _joined(before.get(key), each) for key, each in value.items()}}


def _no_variables(
    shared: dict[str, Given], factors: Sequence[Sequence[Level]], keys: Keys
) -> Iterator[Flaw]:
    """A key that stands in no command is a setting, and one that stands in one is none."""
    tables = (shared, *(level.settings for level in itertools.chain(*factors)))
    for key, given in itertools.chain.from_iterable(table.items() for table in tables):
        if key in keys.taken:
            text = f"is a setting of systems; in a command it needs another name: {{the_{key}}}"
            yield Flaw(given.key, text)
        elif key not in keys.settings | keys.variables:
            text = f"no command has {{{key}}}, and no kind of system such a setting"
            yield Flaw(given.key, f"{text}.{perhaps(key, keys.settings | keys.variables)}")


def _variables(combination: Combination, flaws: list[Flaw]) -> dict[str, Variable]:
    """Values for commands, as text."""
    found: dict[str, Variable] = {}
    for key, given in sorted(combination.variables.items()):
        value = given.value
        words = value if isinstance(value, list) else [value]
        if isinstance(value, bool) or not all(
            isinstance(word, str | int | float) and not isinstance(word, bool) for word in words
        ):
            text = f"{shown(value)} cannot stand in a command: it is text, a number or a list"
            flaws.append(Flaw(given.path, text))
            continue
        texts = tuple(map(str, words))
        found[key] = texts if isinstance(value, list) else texts[0]
    return found


def _system(
    kind: Kind, combination: Combination, flaws: list[Flaw], *, programs: bool
) -> SystemSpec | None:
    """One system; ``None``, with flaws added, if its settings are not right."""
    if len(flaws) >= FLAWS_MAX:
        return None
    given = {key: each for key, each in combination.settings.items() if key != KIND}
    variables = _variables(combination, flaws)
    typed = {key: each.value for key, each in given.items()}
    if SERVICE in typed:
        for key in sorted(variables.keys() & {*OF_SERVICE}):
            text = f"{{{key}}} is what the service tells. Fix: give the variable another name"
            flaw = Flaw(combination.variables[key].key, text)
            flaws += [] if flaw in flaws else [flaw]
        typed[SERVICE] = partly_filled(typed[SERVICE], variables)
    try:
        settings = kind.Settings.model_validate(typed)
    except ValidationError as error:
        for flaw in flaws_of(error, kind.Settings):
            setting, *inside = flaw.path or ("",)
            found = given.get(str(setting))
            path = (*found.path, *inside) if found else (*combination.home, *flaw.path)
            text = flaw.text
            if found and not inside and _is_bundle_of(kind, found.value):
                text = (
                    f"{setting} is a setting by itself, and this level is a table of several. "
                    f"Fix: call the factor otherwise: [factors.{setting}s]"
                )
            flaws.append(Flaw(path, text))
        return None
    if programs and (reason := kind.programs(settings)):
        telling = combination.settings.get(KIND) or next(iter(given.values()), None)
        path = telling.key if telling else combination.home
        flaws.append(Flaw(path, f"no program can be executed on {kind.name}: {reason}"))
        return None
    spoken = [level.name for level in combination.levels if level.name != UNSPOKEN]
    return SystemSpec(
        name=" ".join(spoken) or UNSPOKEN,
        levels={level.factor: level.name for level in combination.levels},
        kind=kind.name,
        settings=settings.model_dump(mode="json"),
        redraws=kind.redraws(settings),
        clock=kind.clock(settings),
        elsewhere=programs and (kind.elsewhere or getattr(settings, "host", None) is not None),
        variables=variables,
    )


def _is_bundle_of(kind: Kind, value: JsonValue) -> bool:
    """Whether a value looks like a level that sets several settings."""
    return isinstance(value, dict) and bool(value.keys() & {KIND, *kind.Settings.model_fields})


def _check_distinct(systems: Sequence[SystemSpec], flaws: list[Flaw]) -> None:
    """There are two systems at least, and a name means one of them."""
    if len(systems) == 1:
        text = "there is nothing to compare: give one factor two levels or more"
        flaws.append(Flaw(("factors",), text))
    for name, times in Counter(system.name for system in systems).items():
        if times > 1:
            text = f'{times} systems would be called "{name}"; give the levels different names'
            flaws.append(Flaw(("factors",), text))


def _check_one_clock(systems: Sequence[SystemSpec], flaws: list[Flaw]) -> None:
    """Time and instructions cannot be compared."""
    if len({system.clock for system in systems}) > 1:
        varied = any("clock" in system.levels for system in systems)
        text = "all systems of a study have one clock: a count of instructions is no time"
        flaws.append(Flaw(("factors", "clock") if varied else ("factors",), text))
