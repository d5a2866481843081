"""Clients of a workload: the key ``clients``, and what it means.

It is a key of the engine's own workloads. Programs may have a parameter of that name, which is
theirs (pgbench does).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from tiltyard.address import HostName, Reached
from tiltyard.study.file import Typed
from tiltyard.study.kinds import Kind
from tiltyard.study.locate import KeyPath
from tiltyard.study.model import ClientSpec, WorkloadSpec
from tiltyard.study.problems import Flaw, shown
from tiltyard.study.wording import flaws_of
from tiltyard.wire import MetricCard

KEY: Final = "clients"
MOST: Final = 100
"""Each is a thread of the lab, and a process on its host."""
STONEWALL: Final = "_stonewall"
"""How the metric ends that is a rate while all clients were at work."""


class ClientTable(Reached, Typed):
    """One client."""

    host: HostName | None = Field(
        None,
        description='Its host as ssh knows it: "user@host"; else this one.',
    )
    directory: Annotated[str, StringConstraints(pattern=r"^/[^\n]*$")] = Field(
        "",
        description="Where the target is on that client, a full path: its own mount point of a "
        "shared file system. By default the path that the system has here.",
    )
    inject_ns: int = Field(
        0,
        ge=0,
        le=10**9,
        description="A known delay in front of each call of this client, in ns: to prove that a "
        "straggler is found.",
    )


class ClientsKey(Typed):
    """What the engine's own workloads have beside their parameters; read by :func:`split`."""

    clients: Annotated[int, Field(ge=2, le=MOST)] | list[HostName | ClientTable] = Field(
        2,
        description="Clients that execute it at the same time, each in a directory of its own in "
        "the same target, or over a network against the same server: so many of this host, or a "
        'list with "user@host", or with a table for one that has its own path to the target.',
    )


def split(
    parameters: Mapping[str, JsonValue], path: KeyPath, flaws: list[Flaw]
) -> tuple[dict[str, JsonValue], tuple[ClientSpec, ...]]:
    """The parameters of a workload of the engine, and its clients: none where it names none."""
    left = dict(parameters)
    if KEY not in left:
        return left, ()
    typed, at = left.pop(KEY), (*path, KEY)
    if isinstance(typed, bool) or not isinstance(typed, int | list):
        text = f'{shown(typed)} is neither a number nor a list: 4, or ["user@host", …]'
        flaws.append(Flaw(at, text))
        return left, ()
    count = typed if isinstance(typed, int) else len(typed)
    if not 2 <= count <= MOST:
        flaws.append(Flaw(at, f"{count} clients are out of range: 2 to {MOST}"))
        return left, ()
    tables = [{}] * count if isinstance(typed, int) else typed
    return left, tuple(_clients(tables, at, flaws))


def _clients(tables: Sequence[JsonValue], at: KeyPath, flaws: list[Flaw]) -> Iterator[ClientSpec]:
    for place, typed in enumerate(tables):
        try:
            table = ClientTable.model_validate({"host": typed} if isinstance(typed, str) else typed)
        except ValidationError as error:
            found = flaws_of(error, ClientTable)
            flaws += [Flaw((*at, place, *flaw.path), flaw.text) for flaw in found]
            continue
        if key := table.options_alone:
            flaws.append(Flaw((*at, place, key), "is for a host; write host too"))
        yield ClientSpec(**table.model_dump())


def flaws_of_clients(
    specs: Iterable[WorkloadSpec],
    kind: Kind | None,
    systems: Iterable[Mapping[str, JsonValue]],
    *,
    placed: bool,
) -> Iterator[Flaw]:
    """Clients that cannot be had on the systems of a study.

    Args:
        specs: the workloads.
        kind: of the systems, where it is known.
        systems: their settings.
        placed: whether hosts of a placement have them.
    """
    remote = any(settings.get("host") for settings in systems)
    for number, spec in enumerate(specs):
        path = ("workload", number, KEY)
        if not spec.clients:
            continue
        if placed:
            text = "clients are started by this host; leave placement out, or clients"
            yield Flaw(path, text)
        if kind is None:
            continue
        if kind.elsewhere or remote:
            here = "what is mounted here" if kind.target == "directory" else 'kind = "hosts"'
            text = (
                f"these systems of kind {kind.name} are not on this host; take {here}, and name "
                'the hosts: clients = ["user@host", …]'
            )
            yield Flaw(path, text)
        if kind.target == "far":
            yield from _flaws_over_a_network(spec.clients, kind, path)


def _flaws_over_a_network(
    clients: Sequence[ClientSpec], kind: Kind, path: KeyPath
) -> Iterator[Flaw]:
    """Clients that do not reach a server, or ask for what it does not have."""
    for place, client in enumerate(clients):
        if client.directory:
            yield Flaw(
                (*path, place, "directory"),
                f"systems of kind {kind.name} have no directory; leave it out",
            )
        if client.host and not kind.far_host:
            text = (
                f"the server of systems of kind {kind.name} is reached from this host alone; leave "
                'host out, or put the server on a host of its own: kind = "hosts", server = '
                '"user@server"'
            )
            yield Flaw((*path, place), text)


def with_stonewalls(metrics: Iterable[MetricCard]) -> Iterator[MetricCard]:
    """The metrics of a workload of several clients: of each rate also that while all worked."""
    for card in metrics:
        yield card
        if card.unit in ("B/s", "1/s"):
            update = {
                "name": card.name + STONEWALL,
                "label": f"{card.label}, stonewall",
                "role": "detail",
                "about": "The same from when the last client began until the first one was done.",
            }
            yield card.model_copy(update=update)
