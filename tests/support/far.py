"""Tests of systems that run twice: here, and on "another host" through a real ssh to loopback.

A test that is marked with :data:`here_and_there` gets the second one by the fixture ``far``, which
its ``make`` heeds. The other host has a home and a state directory of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from support.hosts import host_state
from support.patience import wait_until
from support.sshd import Sshd, sshd
from tiltyard.host.ledger import Ledger
from tiltyard.systems.kind import Site, System

here_and_there = pytest.mark.parametrize(
    "far", [False, True], ids=["here", "by ssh"], indirect=True
)


@dataclass(frozen=True)
class Far:
    """Where the systems of a test are."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """That say so."""
    ledger: Ledger | None = None
    systems: list[System] = field(default_factory=list)

    def site(self, site: Site) -> Site:
        """The same for the other host, whose ledger outlives a test."""
        if self.ledger is None:
            return site
        return replace(site, ledger=self.ledger)

    def made(self, system: System) -> System:
        """The same; on the other host it is taken down when its test has ended."""
        self.systems.append(system)
        return system


@pytest.fixture(scope="session")
def far_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """The other host; nothing is left there."""
    folder = tmp_path_factory.mktemp("far")
    with sshd(folder / "server", state=folder / "state") as server:
        yield server
        wait_until(lambda: not list(server.home.iterdir()), "the copy is removed")
        # An agent whose lab was killed takes back what it has done meanwhile.
        wait_until(lambda: not list((folder / "state").glob("*")), "nothing is owed any more")
    # It ends with its process, while tests of other ones change loop devices of theirs.
    assert str(folder) not in host_state(folder)


@pytest.fixture(scope="session")
def far_host(far_server: Sshd) -> Iterator[Far]:
    """The same with a ledger of what is done there."""
    settings = {"host": far_server.far, "ssh_options": far_server.options}
    with Ledger() as ledger:
        yield Far(settings, ledger)


@pytest.fixture
def far(request: pytest.FixtureRequest) -> Iterator[Far]:
    """Here, unless the test is marked."""
    where = request.getfixturevalue("far_host") if getattr(request, "param", False) else Far()
    yield where
    while where.ledger and where.systems:
        where.systems.pop().take_down()
