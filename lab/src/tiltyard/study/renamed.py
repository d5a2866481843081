"""Keys of earlier versions, and their names of today: what has them still reads."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from tiltyard.study.locate import KeyPath

T = TypeVar("T")

ENDS: Final = {"near": "client", "far": "server"}
"""In a setting that has a value for each end."""
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
_SETTINGS: Final = (("systems",), _FACTORS, ("factors", "*", "*"))
"""Where settings of systems stand by name; ``*`` is any key, and any place of a list."""
_VALUES: Final = (("systems", "{}"), ("factors", "{}", "*"), ("factors", "*", "*", "{}"))
"""Where the value of a setting stands."""
_KEYS: Final = (
    ((), {"gates": "noise"}),
    (("noise",), {"spoiled": "disturbed"}),
    *((place, names) for names in (PLACEMENT, HOSTS) for place in _SETTINGS),
    *((tuple(step.format(name) for step in place), ENDS) for place in _VALUES for name in _OF_ENDS),
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


def old_keys(document: dict[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any], str, str]]:
    """Each old key of a study file: path of its table, the table, the key, its name of today.

    The next one is looked for when whoever asks has renamed this one.
    """
    for steps, names in _KEYS:
        for path, table in _tables(document, steps, ()):
            for old, new in names.items():
                if old in table and not (steps == _FACTORS and _is_bundle(table[old])):
                    yield path, table, old, new


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
