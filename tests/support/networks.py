"""What a system of two ends may leave behind on this host, and how to look for it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltyard.host import sysctls
from tiltyard.host.host import hosts
from tiltyard.host.ledger import Ledger
from tiltyard.host.links import namespace_path
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System

if TYPE_CHECKING:
    from support.far import Far

Make = Callable[..., System]

WATCHED = (
    "net.core.somaxconn",
    "net.core.netdev_max_backlog",
    "net.core.busy_read",
    "net.core.busy_poll",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",
)
"""Kernel parameters of the whole host that the tests change."""


@contextmanager
def systems_of(kind_name: str, home: Path, far: "Far | None" = None) -> Iterator[Make]:
    """Makes systems that share a ledger; afterwards they are down, and nothing of them is left."""
    home.mkdir(exist_ok=True)
    before, made = parameters(), list[System]()
    with Ledger() as ledger:
        site = Site(root=home, work=home, ledger=ledger)
        site = far.site(site) if far else site

        def system(**settings: object) -> System:
            given: dict[str, Any] = {**settings, **(far.settings if far else {})}
            made.append(kind(kind_name).system(kind_name, given, site))
            return made[-1]

        yield system
        for one in made:
            one.take_down()
    assert left_behind(ledger.token) == []
    assert parameters() == before
    assert not [path for path in home.iterdir() if ledger.token in path.name]


def parameters() -> dict[str, str]:
    """Kernel parameters of the whole host."""
    return {key: sysctls.read(key) for key in WATCHED}


def left_behind(mark: str) -> list[str]:
    """Network namespaces whose names, and processes whose arguments, have a mark in them.

    Agents of other hosts end with this process, and are ended first.
    """
    hosts.close(here=False)
    names = [path.name for path in namespace_path(".").glob("*") if mark in path.name]
    return names + [" ".join(words) for words in _command_lines() if mark in " ".join(words)]


def _command_lines() -> list[list[str]]:
    """The arguments of every process but this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found.append((entry / "cmdline").read_bytes().decode(errors="replace").split("\0"))
            except OSError:
                continue
    return found
