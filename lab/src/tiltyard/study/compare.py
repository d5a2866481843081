"""The study that ``tiltyard compare`` writes: the same that one would write by hand."""

import os
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from tiltyard.errors import UsageError
from tiltyard.study.problems import not_a, one_of
from tiltyard.study.program import ProgramCard
from tiltyard.study.toml import TomlValue, toml_key, toml_value
from tiltyard.wire import Catalogue


def compare_study(
    names: Sequence[str],
    workloads: Sequence[str],
    catalogue: Catalogue,
    filesystems: Collection[str],
    settings: Collection[str] = (),
    *,
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: str | None = None,
) -> str:
    """The text of a study: file systems, directories or settings, each workload at its usual size.

    A name of a file system means that file system; a directory of the same name is written
    ``./ext4``. ``mtu=9000`` means a pair of network namespaces with that setting. A name given
    twice is compared with itself (A/A): ``ext4-a`` and ``ext4-b``.

    Args:
        names: File systems, paths of existing directories, or settings with a value each.
        workloads: Names in the catalogue; what stands after a colon is what the workload asks
            for there, as ``fio:mail.fio`` is a job file.
        catalogue: What the engine can run.
        filesystems: Names of the file systems that can be made.
        settings: Names of the settings that can be compared.
        blocks: Exactly so many blocks; by default the standard profile.
        budget: Wall time as it is typed: ``45 min``.
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a disturbed block: ``replace`` or ``keep``.

    Raises:
        UsageError: if a name is none of these, sorts are mixed, or a workload is unknown.
    """
    if len(names) < 2:
        raise UsageError("comparing needs two names or more: tiltyard compare ext4 xfs")
    tables = [_table(workload, catalogue) for workload in workloads]
    setting, values = _values(names, filesystems, settings)
    labels = _labels(names)
    head: dict[str, TomlValue | None] = {"question": _question(labels, workloads), "seed": seed}
    precision: dict[str, TomlValue | None] = {"blocks": blocks, "budget": budget}
    noise: dict[str, TomlValue | None] = {"disturbed": disturbed}
    parts = [
        _pairs(head),
        f"[factors]\n{setting} = {_factor(labels, values)}",
        *(f"[[workload]]\n{_pairs(table)}" for table in tables),
    ]
    for table, values_of in (("precision", precision), ("noise", noise)):
        if pairs := _pairs(values_of):
            parts.append(f"[{table}]\n{pairs}")
    return "\n\n".join(parts) + "\n"


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
    *others, final = workloads
    where = f"{', '.join(others)} and {final}" if others else final
    return f"Which is faster in {where}: {', '.join(first)} or {last}?"


def _pairs(values: dict[str, TomlValue | None]) -> str:
    """One line for each value that is given."""
    given = ((key, value) for key, value in values.items() if value is not None)
    return "\n".join(f"{key} = {toml_value(value)}" for key, value in given)
