"""The study that ``tiltyard compare`` writes: the same that one would write by hand."""

import os
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.study.problems import not_a, one_of
from tiltyard.study.program import PROGRAM, ProgramCard
from tiltyard.study.toml import TomlValue, toml_key, toml_value
from tiltyard.wire import Catalogue

Table = dict[str, TomlValue | None]
"""A table of a study; what is ``None`` is not written."""
Levels = Mapping[str, TomlValue]
"""Name of each level → its value, or the variables that it sets."""
COMMANDS: Final = "commands"
"""The factor of commands that have more of their own than their words."""


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


def compare_study(
    names: Sequence[str],
    workloads: Sequence[str],
    catalogue: Catalogue,
    filesystems: Collection[str],
    settings: Collection[str] = (),
    *,
    commands: TypedCommands | None = None,
    within: str | None = None,
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: str | None = None,
) -> str:
    """The text of a study: file systems, directories or settings, each workload at its usual size.

    A name of a file system means that file system; a directory of the same name is written
    ``./ext4``. ``mtu=9000`` means a pair of network namespaces with that setting. A name given
    twice is compared with itself (A/A): ``ext4-a`` and ``ext4-b``. Commands are compared with each
    other, or one of them on several systems.

    Args:
        names: File systems, paths of existing directories, or settings with a value each.
        workloads: Names in the catalogue, none with commands; what stands after a colon is what
            the workload asks for there, as ``fio:mail.fio`` is a job file.
        catalogue: What the engine can run.
        filesystems: Names of the file systems that can be made.
        settings: Names of the settings that can be compared.
        commands: Commands that were typed.
        within: Systems that differ by less are equivalent, as it is typed: ``2%``.
        blocks: Exactly so many blocks; by default the standard profile.
        budget: Wall time as it is typed: ``45 min``.
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a disturbed block: ``replace`` or ``keep``.

    Raises:
        UsageError: if a name is none of these, sorts are mixed, or a workload is unknown.
    """
    head: Table = {"seed": seed}
    tables: list[tuple[str, Table]] = [
        ("[precision]", {"equivalent_within": within, "blocks": blocks, "budget": budget}),
        ("[noise]", {"disturbed": disturbed}),
    ]
    if commands:
        return _of_commands(names, commands, catalogue, filesystems, settings, head, tables)
    if len(names) < 2:
        raise UsageError("comparing needs two names or more: tiltyard compare ext4 xfs")
    setting, values = _values(names, filesystems, settings)
    labels = _labels(names)
    used = [("[[workload]]", _table(workload, catalogue)) for workload in workloads]
    return _text(
        {"question": _question(labels, workloads), **head},
        [f"[factors]\n{setting} = {_factor(labels, values)}"],
        [*used, *tables],
    )


def _of_commands(
    names: Sequence[str],
    commands: TypedCommands,
    catalogue: Catalogue,
    filesystems: Collection[str],
    settings: Collection[str],
    head: Table,
    tables: Sequence[tuple[str, Table]],
) -> str:
    """The text of a study of commands: on this host, on one system or on several."""
    _table(PROGRAM, catalogue)
    factors, systems, labels = [], dict[str, TomlValue | None](), _labels(names)
    if names:
        setting, values = _values(names, filesystems, settings)
        if len(names) > 1:
            factors.append(f"[factors]\n{setting} = {_factor(labels, values)}")
        else:
            systems = {setting: tomllib.loads(f"value = {values[0]}")["value"]}
    for factor, levels in commands.factors.items():
        lines = (f"{toml_key(level)} = {toml_value(sets)}" for level, sets in levels.items())
        factors.append("\n".join((f"[factors.{factor}]", *lines)))
    if not factors:
        raise UsageError(
            "one command alone is compared with nothing. Fix: give --command (-c) again, or name "
            "two systems: tiltyard compare ext4 xfs -c 'make -j2'"
        )
    contestants = labels if len(labels) > 1 else [*next(iter(commands.factors.values()))]
    on = labels if len(labels) < 2 and len(commands.names) > 1 else commands.names
    precision, noise = (dict(tables)[name] for name in ("[precision]", "[noise]"))
    if commands.blocks and precision["blocks"]:
        raise UsageError("--runs and --blocks: give one of them")
    precision["blocks"] = commands.blocks or precision["blocks"]
    # A desktop and a CI runner are never idle: what others do widens the interval instead of ending
    # in "no verdict".
    noise["disturbed"] = noise["disturbed"] or "keep"
    return _text(
        {"question": _question(contestants, on), **head},
        factors,
        [("[systems]", systems), ("[[workload]]", {**commands.workload}), *tables],
    )


def _table(workload: str, catalogue: Catalogue) -> dict[str, TomlValue | None]:
    """A workload at its usual size, as a study has it."""
    name, colon, value = workload.partition(":")
    card = catalogue.workload(workload) or catalogue.workload(name)
    if card is None:
        raise UsageError(not_a(workload, "workload", (card.name for card in catalogue.workloads)))
    table = {"use": card.name, **card.usual}
    if not colon or card.name == workload:
        return table
    key = card.argument if isinstance(card, ProgramCard) else None
    if key is None:
        raise UsageError(f"{name} takes nothing after a colon: -w {name}")
    schema = card.parameters["properties"][key]
    # A study's paths are relative to its folder; this one was typed relative to where one stands.
    typed = str(Path(value).absolute()) if schema.get("path") else value
    return {**table, key: typed}


def _values(
    names: Sequence[str], filesystems: Collection[str], settings: Collection[str]
) -> tuple[str, list[str]]:
    """The setting that is varied, and a value of it for each name, as TOML."""
    if all(name in filesystems for name in names):
        return "filesystem", [toml_value(name) for name in names]
    if any(name.partition("=")[0] in settings for name in names):
        return _assigned(names, settings)
    for name in names:
        if name not in filesystems and not Path(name).is_dir():
            raise UsageError(
                f'"{name}" is neither a file system nor a directory that exists. '
                f"File systems: {one_of(name, filesystems).removeprefix('One of: ')}"
            )
        if not name.isprintable():
            raise UsageError(f"{name!a}: a study file cannot hold this name")
    for name in names:
        if name in filesystems:
            raise UsageError(
                f'"{name}" is a file system, and others are directories. Compare either; '
                f"a directory of that name is written {os.curdir}{os.sep}{name}"
            )
    # A study's paths are relative to its folder; these were typed relative to where one stands.
    return "directory", [toml_value(str(Path(name).absolute())) for name in names]


def _assigned(names: Sequence[str], settings: Collection[str]) -> tuple[str, list[str]]:
    """The setting of ``mtu=1500`` and ``mtu=9000``, and the two values."""
    keys = [name.partition("=")[0] for name in names]
    for key, name in zip(keys, names, strict=True):
        if "=" not in name or key not in settings:
            raise UsageError(f'"{name}" is not a setting with a value, as others are: mtu=9000')
        if key != keys[0]:
            raise UsageError(f"{keys[0]} and {key}: compare varies one setting, a study several")
    return keys[0], [_as_toml(name.partition("=")[2]) for name in names]


def _as_toml(typed: str) -> str:
    """A value as it stands in a study: text needs no quotes on a command line."""
    try:
        alone = tomllib.loads(f"value = {typed}").keys() == {"value"}
    except tomllib.TOMLDecodeError:
        alone = False
    return typed if alone else toml_value(typed)


def _labels(names: Sequence[str]) -> list[str]:
    """The names, those given several times told apart: ``ext4-a``, ``ext4-b``."""
    times, seen = Counter(names), Counter[str]()
    labels = []
    for name in names:
        letter = chr(ord("a") + seen[name])
        labels.append(f"{name}-{letter}" if times[name] > 1 else name)
        seen[name] += 1
    return labels


def _factor(labels: Sequence[str], values: Sequence[str]) -> str:
    """The levels, whose values are TOML: a list where they name themselves, else a table."""
    if [toml_value(label) for label in labels] == list(values):
        return f"[{', '.join(values)}]"
    levels = zip(labels, values, strict=True)
    return f"{{ {', '.join(f'{toml_key(name)} = {value}' for name, value in levels)} }}"


def _question(labels: Sequence[str], workloads: Sequence[str]) -> str:
    """``Which is faster in postmark: ext4, xfs or btrfs?``."""
    *first, last = labels
    *others, final = workloads or ("",)
    where = f"{', '.join(others)} and {final}" if others else final
    return f"Which is faster{where and f' in {where}'}: {', '.join(first)} or {last}?"


def _text(head: Table, factors: Sequence[str], tables: Sequence[tuple[str, Table]]) -> str:
    """A study file; tables in which nothing is given are left out."""
    filled = (f"{header}\n{pairs}" for header, table in tables if (pairs := _pairs(table)))
    return "\n\n".join((_pairs(head), *factors, *filled)) + "\n"


def _pairs(values: Table) -> str:
    """One line for each value that is given."""
    given = ((key, value) for key, value in values.items() if value is not None)
    return "\n".join(f"{toml_key(key)} = {toml_value(value)}" for key, value in given)
