"""Settings of a system that has two ends: one value for both, or one for each.

A person types ``qdisc = "pfifo limit 1000"`` or ``qdisc = { client = "pfifo limit 1000" }``, and
``sysctl = { "net.core.somaxconn" = 4096, server = { "net.ipv4.tcp_sack" = 0 } }``: what stands
outside ``client`` and ``server`` holds for both.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BeforeValidator, WithJsonSchema

from tiltyard.study.problems import shown
from tiltyard.systems.kind import KindSettings

T = TypeVar("T")

End = Literal["client", "server"]
ENDS: tuple[End, End] = ("client", "server")

_SYSCTL = re.compile(r"net(\.[A-Za-z0-9_-]+)+")
_OFFLOAD = re.compile(r"[a-z][a-z0-9-]*")
_SYSCTL_EXAMPLE = '{ "net.core.somaxconn" = 4096 }'
_ON_OFF = {"on": True, "off": False}


class Ends(KindSettings, Generic[T]):
    """A value for each end."""

    client: T
    server: T

    def of(self, end: End) -> T:
        """The value of one end."""
        return self.client if end == "client" else self.server


def both(values: Mapping[End, str]) -> str:
    """One value where the ends agree, otherwise each end's own."""
    if values["client"] == values["server"]:
        return values["client"]
    return ", ".join(f"{end}: {values[end]}" for end in ENDS)


def _host_table(typed: object) -> object:
    """A table of kernel parameters for the whole host."""
    if not isinstance(typed, Mapping):
        raise ValueError(f"{shown(typed)} is not a table: {_SYSCTL_EXAMPLE}")
    return {key: _sysctl(key, value) for key, value in _flat(typed)}


def _table(typed: object, item: Callable[[str, Any], object], what: str) -> object:
    """A table of items; those outside ``client`` and ``server`` hold for both."""
    if not isinstance(typed, Mapping):
        raise ValueError(f"{shown(typed)} is not a table: {what}")
    shared = dict(_flat({key: value for key, value in typed.items() if key not in ENDS}))
    tables = {}
    for end in ENDS:
        own = typed.get(end, {})
        if not isinstance(own, Mapping):
            raise ValueError(f"{end}: {shown(own)} is not a table: {what}")
        tables[end] = {
            key: item(key, value) for key, value in {**shared, **dict(_flat(own))}.items()
        }
    return tables


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Keys as a person means them: unquoted, TOML takes each dot for a table of its own."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _sysctl(key: str, value: object) -> str:
    """The text of a kernel parameter's value."""
    if not _SYSCTL.fullmatch(key):
        raise ValueError(
            f"{shown(key)} is no kernel parameter of the network: they begin with net."
        )
    words = value if isinstance(value, list) else [value]
    if not words or any(
        isinstance(word, bool) or not isinstance(word, int | str) for word in words
    ):
        raise ValueError(f"{key}: {shown(value)} is not a number, text, or list of numbers")
    return " ".join(str(word) for word in words)


def _offload(name: str, value: object) -> bool:
    """Whether a feature is on."""
    if not _OFFLOAD.fullmatch(name):
        raise ValueError(f"{shown(name)} is not the name of an offload, such as tso, gso, gro, tx")
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value not in _ON_OFF:
        raise ValueError(f"{name}: {shown(value)} is neither true nor false")
    return _ON_OFF[value]


def _qdiscs(typed: object) -> object:
    """A queueing discipline for each end, as tc(8) takes it; ``None`` is the kernel's own."""
    texts = dict(typed) if isinstance(typed, Mapping) else dict.fromkeys(ENDS, typed)
    if unknown := texts.keys() - set(ENDS):
        raise ValueError(f"{shown(min(unknown))} is not an end. One of: client, server.")
    for text in texts.values():
        if text is not None and (not isinstance(text, str) or not text.split()):
            raise ValueError(
                f'{shown(text)} is not a queueing discipline, such as "pfifo limit 1000"'
            )
    return {end: texts.get(end) for end in ENDS}


def _schema(value: dict[str, Any], *, table: bool) -> WithJsonSchema:
    """What an editor shows: a value, or a table of two."""
    two: dict[str, Any] = {"type": "object", "properties": dict.fromkeys(ENDS, value)}
    if table:
        return WithJsonSchema({**two, **value})
    return WithJsonSchema({"anyOf": [value, {**two, "additionalProperties": False}]})


Sysctls = Annotated[
    Ends[dict[str, str]],
    BeforeValidator(lambda typed: _table(typed, _sysctl, _SYSCTL_EXAMPLE)),
    _schema({"type": "object", "additionalProperties": True}, table=True),
]
"""Kernel parameters by name."""

Offloads = Annotated[
    Ends[dict[str, bool]],
    BeforeValidator(lambda typed: _table(typed, _offload, "{ tso = false, gso = false }")),
    _schema({"type": "object", "additionalProperties": {"enum": [True, False, "on", "off"]}},
            table=True),
]  # fmt: skip
"""Features of a device by their names in ethtool(8)."""

Qdiscs = Annotated[
    Ends[str | None], BeforeValidator(_qdiscs), _schema({"type": "string"}, table=False)
]
"""Queueing disciplines of the two devices."""

HostSysctls = Annotated[
    dict[str, str],
    BeforeValidator(_host_table),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
"""Kernel parameters of a system that has one host for both ends."""
