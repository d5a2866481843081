"""Both ends on this host."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.far import Far, here_and_there
from support.hosts import needs_root
from support.networks import Make, left_behind, systems_of
from tiltyard.errors import BusyError, TiltyardError
from tiltyard.executors.engine import FarEnd
from tiltyard.host import sysctls
from tiltyard.host.place import Place
from tiltyard.ownership import state_directory
from tiltyard.systems import loopback


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    with systems_of("loopback", tmp_path, far) as make:
        yield make


@here_and_there
@pytest.mark.parametrize(("family", "address"), [("ipv4", "127.0.0.1"), ("ipv6", "::1")])
def test_up_and_down(make: Make, family: str, address: str) -> None:
    system = make(family=family)
    assert system.problems() == []
    up = system.bring_up()
    assert isinstance(up.target, FarEnd)
    assert up.target.address == address
    assert (up.prefix, up.commands) == ((), ())
    assert up.facts["path"] == "loopback of this host"
    system.take_down()


def test_the_secret_is_ours_alone(make: Make, tmp_path: Path) -> None:
    system = make()
    up = system.bring_up()
    assert isinstance(up.target, FarEnd)
    assert [*tmp_path.iterdir()] == []
    assert up.target.secret
    assert up.target.secret not in str((left_behind("tiltyard-"), system.steps.recipe))
    ledgers = [path.read_text() for path in state_directory().iterdir() if path.is_file()]
    assert ledgers
    assert up.target.secret not in str(ledgers)


@here_and_there
@needs_root
def test_parameters_are_set_on_the_host_and_put_back(make: Make) -> None:
    system = make(congestion_control="reno", sysctl={"net": {"core": {"somaxconn": 99}}})
    assert system.problems() == []
    up = system.bring_up()
    assert sysctls.read("net.core.somaxconn") == up.facts["net.core.somaxconn"] == "99"
    assert up.facts["congestion control"] == "reno"
    system.take_down()
    assert sysctls.read("net.core.somaxconn") != "99"


@needs_root
def test_two_runs_do_not_set_the_same_parameter(make: Make, tmp_path: Path) -> None:
    make(sysctl={"net.core.somaxconn": 99}).bring_up()
    with systems_of("loopback", tmp_path / "other") as other:
        for key in ("somaxconn", "netdev_max_backlog"):
            with pytest.raises(BusyError, match=rf"net\.core\.{key} is taken by another run"):
                other(sysctl={f"net.core.{key}": 98}).bring_up()


def test_an_engine_that_does_not_serve_leaves_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(loopback._ADDRESSES, "ipv4", "192.0.2.1")
    with pytest.raises(TiltyardError, match=r"the server does not listen: .*: ended with status"):
        make().bring_up()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Welcome!", "does not listen: Welcome!"),
        ('{"type":"listening","data":{"addresses":[],"engine":"9","protocol":1}}', "not listen"),
        (
            '{"type":"listening","data":{"addresses":["[::1]:4711"],"engine":"9","protocol":99}}',
            "speaks protocol 99, this lab speaks 1",
        ),
    ],
)
def test_what_a_server_says_first_is_looked_at(make: Make, line: str, message: str) -> None:
    system = make()
    system.bring_up()
    (mark,) = system.steps.started
    step, told = system.steps.started[mark]
    system.steps.started[mark] = (step, told.model_copy(update={"line": line}))
    with pytest.raises(TiltyardError, match=message):
        system.look()


def test_only_parameters_need_root(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_root", False)
    assert make().problems() == []
    (problem,) = make(sysctl={"net.core.somaxconn": 99}).problems()
    assert problem.text == "only root can set net.core.somaxconn"


def test_the_far_end_stays_on_its_cpus(make: Make) -> None:
    cpu = min(os.sched_getaffinity(0))
    system = make(server_cpus=[cpu])
    up = system.bring_up()
    assert up.facts["CPUs of the server"] == str(cpu)
    assert up.facts["CPUs of the client"] == "as the conditions have it"
