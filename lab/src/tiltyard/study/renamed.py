"""Keys of earlier versions, and their names of today: what has them still reads."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from tiltyard.errors import OldKeyWarning
from tiltyard.study.locate import KeyPath, Lines
from tiltyard.study.problems import Flaw, located

T = TypeVar("T")

ENDS: Final = {"near": "client", "far": "server"}
"""In a setting that has a value for each end, and of workloads with two ends."""
PLACEMENT: Final = {"near_cpus": "client_cpus", "far_cpus": "server_cpus"}
"""Settings of systems that have two ends."""
HOSTS: Final = {"far": "server"}
"""Settings of the kind ``hosts``."""
FACTS: Final = {
    "CPUs of the near end": "CPUs of the client",
    "CPUs of the far end": "CPUs of the server",
    "engine of the far end": "engine of the server",
    "far host": "host of the server",
}
"""Of systems, in journals."""

_OF_ENDS: Final = ("sysctl", "qdisc", "offloads")
_FACTORS: Final = ("factors",)
_WORKLOADS: Final = ("workload", "*")
_SERVERS: Final = ((*_WORKLOADS, "servers", "*"), ("program", "servers", "*"))
"""Of a study and of a workload profile; each says at which end it is: ``at``."""
_SETTINGS: Final = (("systems",), _FACTORS, ("factors", "*", "*"))
"""Where settings of systems stand by name; ``*`` is any key, and any place of a list."""
_VALUES: Final = (("systems", "{}"), ("factors", "{}", "*"), ("factors", "*", "*", "{}"))
"""Where the value of a setting stands."""
_KEYS: Final = (
    ((), {"gates": "noise"}),
    (("noise",), {"spoiled": "disturbed"}),
    *((place, names) for names in (PLACEMENT, HOSTS) for place in _SETTINGS),
    *((tuple(step.format(name) for step in place), ENDS) for place in _VALUES for name in _OF_ENDS),
    (_WORKLOADS, ENDS),
)
"""Of a study file, outer keys first."""


def of_today(table: Mapping[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """A table under the names of today; a key that is there under both stays."""
    return {
        names[key] if key in names and names[key] not in table else key: value
        for key, value in table.items()
    }


def typed_today(typed: object, names: Mapping[str, str]) -> object:
    """The same of what may be no table."""
    return of_today(typed, names) if isinstance(typed, Mapping) else typed


def parameters_today(parameters: Mapping[str, T]) -> dict[str, T]:
    """Those of a workload in a plan, under the names of today."""
    found: dict[str, Any] = of_today(parameters, ENDS)
    if isinstance(servers := found.get("servers"), list | tuple):
        found["servers"] = [
            {**one, "at": ENDS.get(one["at"], one["at"])} if "at" in one else one for one in servers
        ]
    return found


def rename_old(document: dict[str, Any], lines: Lines, source: Path) -> Lines:
    """Give keys of earlier versions, and the ends of servers, their names of today, in place.

    Args:
        document: a study file, or a workload profile.
        lines: those of its text.
        source: the file, for messages.

    Returns:
        The lines of the document, by the keys of today.

    Warns:
        OldKeyWarning: once, naming all of them.

    Raises:
        StudyFileError: if a key is there under both names.
    """
    told = []
    for path, table, name, new in old_keys(document):
        before, after = (*path, name), (*path, new)
        if new in table:
            raise located(source, lines, [Flaw(before, f"is the old name of {new}; keep one")])
        table[new] = table.pop(name)
        told.append(f"line {lines.of(before)}: {name} is now {new}")
        lines = lines.renamed(before, after)
    for steps in _SERVERS:
        for path, server in _tables(document, steps, ()):
            if isinstance(end := server.get("at"), str) and end in ENDS:
                server["at"] = ENDS[end]
                place = lines.of((*path, "at"))
                told.append(f'line {place}: at = "{end}" is now "{ENDS[end]}"')
    if told:
        warnings.warn(OldKeyWarning(f"{source}: {'; '.join(told)}"), stacklevel=3)
    return lines


def old_keys(document: dict[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any], str, str]]:
    """Each old key of a study file: path of its table, the table, the key, its name of today.

    The next one is looked for when whoever asks has renamed this one.
    """
    for steps, names in _KEYS:
        for path, table in _tables(document, steps, ()):
            for old, new in names.items():
                if old in table and not _is_own(steps, table[old]):
                    yield path, table, old, new


def _is_own(steps: tuple[str, ...], value: object) -> bool:
    """Whether the key is a person's own name: of a bundle, or of a parameter of a profile."""
    if steps == _WORKLOADS:
        return not isinstance(value, dict)
    return steps == _FACTORS and _is_bundle(value)


def _is_bundle(factor: object) -> bool:
    """Whether its levels are tables of settings: then its name is a person's own."""
    return isinstance(factor, dict) and any(isinstance(one, dict) for one in factor.values())


def _tables(node: Any, steps: tuple[str, ...], at: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The tables to which a path leads."""
    if not steps:
        if isinstance(node, dict):
            yield at, node
        return
    below: list[tuple[Any, Any]] = []
    if steps[0] == "*":
        if isinstance(node, dict | list):
            below = list(node.items() if isinstance(node, dict) else enumerate(node))
    elif isinstance(node, dict) and steps[0] in node:
        below = [(steps[0], node[steps[0]])]
    for key, each in below:
        yield from _tables(each, steps[1:], (*at, key))
