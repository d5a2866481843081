"""The study that ``tiltyard compare`` makes, and its text: as one would write it by hand."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tiltyard.errors import UsageError
from tiltyard.executors.engine import JobRefused
from tiltyard.study.problems import PHORONIX, no_workload, parameter_of
from tiltyard.study.program import PROGRAM, ProgramCard
from tiltyard.study.toml import TomlValue, as_typed, split_list, toml_key, toml_value
from tiltyard.wire import Card, Catalogue

Document = dict[str, Any]
"""A study as its text is read: tables, lists, text and numbers."""
Table = dict[str, TomlValue | None]
"""A table of a study; what is ``None`` is left out."""
Levels = Mapping[str, TomlValue]
"""Name of each level → its value, or what it sets."""
Place = Callable[[str], str]
"""A path as it was typed, as a study has it."""
COMMANDS: Final = "commands"
"""The factor of commands that have more of their own than their words."""
SYSTEM: Final = "system"
"""The factor of systems that differ in more than one setting."""


_QUEUED: Final = "uring"
"""The backend of a queue depth that is typed without one: others move one block at a time."""
_WEIGHT: Final = re.compile(r"@\d+$")
"""May stand behind one of several files."""


@dataclass(frozen=True)
class TypedCommands:
    """Commands that were typed, as parts of a study."""

    names: tuple[str, ...]
    workload: Mapping[str, TomlValue]
    """The ``[[workload]]`` table."""
    factors: Mapping[str, Levels]
    """Factors of several commands, and of parameters."""
    blocks: int | None
    """As many as the number of runs that was asked for takes."""
    programs: tuple[str, ...] = ()
    """What is executed, by the first words."""


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the systems and the workloads; ``None``: as studies have it."""

    within: str | None = None
    """Systems that differ by less are equivalent: ``2%``."""
    blocks: int | None = None
    """Exactly so many blocks."""
    budget: str | None = None
    """Wall time: ``45 min``."""
    seed: int | None = None
    """Of the random order."""
    disturbed: str | None = None
    """What becomes of a disturbed block."""
    scale: str | None = None
    """By how much everything is made smaller: ``1/64``."""
    isolate: list[int] | None = None
    """CPUs that are pinned to, and that others are kept off."""


NOTHING: Final = Asked()


def from_here(path: str) -> str:
    """A path that does not depend on where one stands."""
    return str(Path(path).absolute())


def compare_study(
    systems: Sequence[tuple[str, Levels]],
    workloads: Sequence[str],
    catalogue: Catalogue,
    *,
    varied: Mapping[str, Levels] | None = None,
    shared: Levels | None = None,
    commands: TypedCommands | None = None,
    asked: Asked = NOTHING,
    place: Place = from_here,
) -> Document:
    """The study of systems that were typed, each workload at its usual size.

    A system given twice is compared with itself (A/A): ``ext4-a`` and ``ext4-b``. Commands are
    compared with each other, or one of them on several systems.

    Args:
        systems: what each is called, and what it sets.
        workloads: names in the catalogue, with parameters behind a colon:
            ``random:block=4k,depth=8``; none with commands.
        catalogue: what the engine can run.
        varied: factors beside the systems.
        shared: what all systems set.
        commands: commands that were typed.
        asked: what was asked for beside them.
        place: where the paths of workloads begin.

    Raises:
        UsageError: if there is nothing to compare, or a workload or a parameter is unknown.
    """
    from tiltyard.stats.looks import LONG

    labels = _labels([name for name, _ in systems])
    settings = [own for _, own in systems]
    factors = {**_factor_of(labels, settings), **(varied or {})}
    table: Table = {**(shared or {}), **(settings[0] if len(settings) == 1 else {})}
    contestants, each = labels, [*(varied or {})]
    if commands:
        _card(PROGRAM, PROGRAM, catalogue)
        factors |= commands.factors
        workloads = labels if len(labels) < 2 and len(commands.names) > 1 else commands.names
        used = [{**commands.workload}]
    else:
        used = _workloads(workloads, catalogue, place)
        # The question names workloads; their parameters are below it.
        parts = {word: workload_parts(word, catalogue)[0] for word in workloads}
        workloads = [parts[word] if "=" in word else word for word in workloads]
    if not factors:
        raise UsageError(_alone(commands))
    if len(contestants) < 2:
        first = next((key for key in factors if key not in each), each[0] if each else "")
        contestants, each = [*factors[first]], [key for key in each if key != first]
    if commands and commands.blocks and asked.blocks:
        raise UsageError("--runs and --blocks: give one of them")
    blocks = (commands.blocks if commands else None) or asked.blocks
    # What costs little, and what has a budget, goes on for as long as it is open.
    is_long = blocks is None and (asked.budget is not None or (commands and not systems))
    precision: Table = {
        "equivalent_within": asked.within,
        "profile": LONG if is_long else None,
        "blocks": blocks,
        "budget": asked.budget,
    }
    document = {
        "question": _question(contestants, workloads, each),
        "seed": asked.seed,
        "scale": asked.scale,
        "factors": _factors(factors),
        "systems": table,
        "workload": used,
        "precision": precision,
        "noise": {"disturbed": asked.disturbed},
        "conditions": {"cpus": asked.isolate, "isolate": asked.isolate and True},
    }
    return {key: value for key, value in _plain(document).items() if value != {}}


def _plain(value: Any) -> Any:
    """As TOML has it: tables and lists, and no key without a value."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [*map(_plain, value)]
    return value


def _alone(commands: TypedCommands | None) -> str:
    if commands:
        return (
            "one command alone is compared with nothing. Fix: give --command (-c) again, or name "
            "two systems: tiltyard compare ext4 xfs -c 'make -j2'"
        )
    return (
        "comparing needs two names or more: tiltyard compare ext4 xfs; or one setting with several "
        "values: tiltyard compare ext4 --vary scheduler=none,mq-deadline"
    )


def _factor_of(labels: Sequence[str], settings: Sequence[Levels]) -> dict[str, Levels]:
    """The factor of several systems: of the one setting in which they differ, or a bundle."""
    if len(labels) < 2:
        return {}
    keys = {*settings[0]}
    if len(keys) == 1 and all({*own} == keys for own in settings):
        key = keys.pop()
        return {key: {name: own[key] for name, own in zip(labels, settings, strict=True)}}
    return {SYSTEM: dict(zip(labels, settings, strict=True))}


def _factors(factors: Mapping[str, Levels]) -> dict[str, TomlValue]:
    """Their levels; as a list where none has tables in it, and each is called what it is."""
    short = all(_is_short([*levels.values()]) for levels in factors.values())
    return {
        name: [*levels] if short and all(map(_is_own_name, levels.items())) else levels
        for name, levels in factors.items()
    }


def _is_own_name(level: tuple[str, TomlValue]) -> bool:
    name, value = level
    return isinstance(value, str) and name == value


def _is_short(levels: Sequence[TomlValue]) -> bool:
    return all(isinstance(value, str | int | float) for value in levels)


def _workloads(words: Sequence[str], catalogue: Catalogue, place: Place) -> list[Table]:
    """Workloads as a study has them; those that are used twice have names of their own."""
    tables = [_table(word, catalogue, place) for word in words]
    times = Counter(table["use"] for table in tables)
    for word, table in zip(words, tables, strict=True):
        if times[table["use"]] > 1:
            name, rest = workload_parts(word, catalogue)
            table["name"] = " ".join(filter(None, (name, *split_list(rest))))
    return tables


def workload_parts(word: str, catalogue: Catalogue) -> tuple[str, str]:
    """A workload, whose name may have a colon as in ``pts:fs-mark``, and what stands behind it."""
    known = (name for name in catalogue.names if f"{word}:".startswith(f"{name}:"))
    parts = word.split(":")
    name = max(known, key=len, default=":".join(parts[: 2 if word.startswith(PHORONIX) else 1]))
    return name, word[len(name) + 1 :]


def _card(name: str, word: str, catalogue: Catalogue) -> Card:
    card = catalogue.workload(name)
    if card is None:
        if reader := _reader_of(Path(word), catalogue):
            raise UsageError(
                f"{word}: a file is no workload, but {reader} carries such files out. "
                f"Fix: -w {reader}:{word}"
            )
        where = "" if word == name else f"{word}: "
        raise UsageError(where + no_workload(name, catalogue.names))
    return card


def _reader_of(file: Path, catalogue: Catalogue) -> str:
    """The workload whose argument is such a file, by its suffix; empty if there is none."""
    for card in catalogue.whole().workloads if file.suffix else ():
        if isinstance(card, ProgramCard) and card.argument:
            schema = card.parameters.get("properties", {}).get(card.argument, {})
            if schema.get("path") and Path(str(schema.get("default"))).suffix == file.suffix:
                return card.name
    return ""


def _table(word: str, catalogue: Catalogue, place: Place) -> Table:
    """A workload at its usual size, with the parameters that were typed."""
    name, rest = workload_parts(word, catalogue)
    card = _card(name, word, catalogue)
    table: Table = {"use": card.name, **card.usual}
    properties = card.parameters.get("properties", {})
    argument = card.argument if isinstance(card, ProgramCard) else None
    paths: Table = {}
    for number, item in enumerate(split_list(rest) if word != name else ()):
        key, equals, value = item.partition("=")
        if argument and not number and (not equals or Path(item).exists()):
            key, value = argument, item
        elif not equals:
            first = next(iter(properties), "")
            commas = f"; a value with commas in quotes, {first}='\"A, B\"'" if number else ""
            raise UsageError(
                f"{word}: {name} takes nothing after a colon but parameters, as: "
                f"-w {name}:{first}=VALUE{commas}"
            )
        elif key not in properties:
            raise UsageError(
                f'{word}: "{key}" is not a parameter of {name}. {parameter_of(key, properties)}'
            )
        table[key] = _parameter(value, properties[key], place)
        if properties[key].get("path"):
            paths[key] = _parameter(value, properties[key], str)
    if isinstance(card, ProgramCard):
        own = {key: value for key, value in table.items() if key in properties}
        table |= _from_shell(card, word, own, paths)
    deep = table.get("depth", 1) not in (1, [1])
    if deep and "backend" in properties and "backend" not in table:
        table["backend"] = _QUEUED
    return table


def _from_shell(card: ProgramCard, word: str, own: Table, typed: Table) -> Table:
    """What its files take from this shell; ``typed`` are the paths of parameters, as typed.

    Those of the study begin in its folder, which may not be there yet.
    """
    paths = {key: _placed(path, from_here) for key, path in typed.items()}
    parameters: Any = {**own, **paths}
    try:
        for key in paths:
            card.files_of(parameters, key)
        return {**card.from_shell(parameters)}
    except JobRefused as refused:
        message = refused.message
        for path in (each for value in typed.values() for each in _listed(value)):
            name = _WEIGHT.sub("", path)
            message = message.replace(from_here(name), name)
        raise UsageError(f"{word}: {message}") from refused


def _listed(value: TomlValue | None) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _placed(value: TomlValue | None, place: Place) -> TomlValue:
    """A path, or each of a list."""
    return [*map(place, _listed(value))] if isinstance(value, list) else place(str(value))


def _parameter(text: str, schema: Mapping[str, object], place: Place) -> TomlValue:
    """A value of a parameter; a list of one needs no brackets."""
    many = schema.get("type") == "array"
    if schema.get("path") and not many:
        return place(text)
    if schema.get("type") == "string":
        return text
    value = as_typed(text)
    value = [value] if many and not isinstance(value, list) else value
    return _placed(value, place) if schema.get("path") else value


def _labels(names: Sequence[str]) -> list[str]:
    """The names, those given several times told apart: ``ext4-a``, ``ext4-b``."""
    times, seen = Counter(names), Counter[str]()
    labels = []
    for name in names:
        letter = chr(ord("a") + seen[name])
        labels.append(f"{name}-{letter}" if times[name] > 1 else name)
        seen[name] += 1
    return labels


def _question(labels: Sequence[str], workloads: Sequence[str], each: Sequence[str]) -> str:
    """``Which is faster in postmark: ext4, xfs or btrfs?``."""
    *first, last = labels
    *others, final = workloads or ("",)
    where = f"{', '.join(others)} and {final}" if others else final
    beside = f", with each {' and '.join(each)}" if each else ""
    return f"Which is faster{where and f' in {where}'}: {', '.join(first)} or {last}{beside}?"


def study_text(document: Document) -> str:
    """The file of a study that was made; read, it is the same study."""
    head = {key: value for key, value in document.items() if not isinstance(value, dict | list)}
    parts = [_pairs(head), *_factor_tables(document["factors"])]
    for name, value in document.items():
        if isinstance(value, list):
            parts += (f"[[{name}]]\n{_pairs(table)}" for table in value)
        elif isinstance(value, dict) and name != "factors":
            parts.append(f"[{name}]\n{_pairs(value)}")
    return "\n\n".join(parts) + "\n"


def _factor_tables(factors: Mapping[str, Any]) -> list[str]:
    """Each a table; where none has tables in it, one table with a line for each."""
    levels = [own if isinstance(own, list) else [*own.values()] for own in factors.values()]
    if all(map(_is_short, levels)):
        return [f"[factors]\n{_pairs(factors)}"]
    return [f"[factors.{toml_key(name)}]\n{_pairs(own)}" for name, own in factors.items()]


def _pairs(values: Mapping[str, TomlValue]) -> str:
    """One line for each."""
    return "\n".join(f"{toml_key(key)} = {toml_value(value)}" for key, value in values.items())
