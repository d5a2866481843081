"""A server on "another host": a real ssh to a server that the test starts on loopback."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.networks import Make, left_behind, systems_of
from support.patience import PATIENCE_S
from support.sshd import Sshd, sshd
from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import FarEnd
from tiltyard.host import sysctls
from tiltyard.host.place import HERE
from tiltyard.systems.hosts import HostsSettings


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd") / "server") as server:
        yield server


@pytest.fixture
def make(server: Sshd, tmp_path: Path) -> Iterator[Make]:
    with systems_of("hosts", tmp_path) as make:
        yield lambda **settings: make(
            **{"server": server.far, "ssh_options": server.options, **settings}
        )
    assert not list(server.home.iterdir())
    assert left_behind(str(server.home)) == []


def test_up_and_down(make: Make, server: Sshd) -> None:
    system = make()
    assert system.problems() == []
    up = system.bring_up()
    assert isinstance(up.target, FarEnd)
    socket.create_connection((up.target.address, up.target.port), timeout=PATIENCE_S).close()
    assert up.target.address == "127.0.0.1"
    assert up.facts["path"] == "network between this host and 127.0.0.1"
    assert up.facts["device of the client"] == "lo"
    assert up.facts["host of the server"].startswith("Linux ")
    assert "client: " not in up.facts["net.ipv4.tcp_rmem"], "both ends are this host"
    assert not list(server.home.iterdir()), "the agent starts its own file"
    system.take_down()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((up.target.address, up.target.port))
    again = system.bring_up().target
    assert isinstance(again, FarEnd)
    assert again.secret != up.target.secret
    system.take_down()
    system.take_down()


def test_both_hosts_have_a_part_in_what_is_measured(make: Make, server: Sshd) -> None:
    system = make()
    assert system.place == HERE
    assert str(system.far) == server.far


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host of the server is taken for one with a kernel of its own."""
    monkeypatch.setattr("tiltyard.host.telemetry.boot_id", lambda: "another boot")


@pytest.mark.usefixtures("apart")
def test_the_host_of_the_server_is_watched_as_this_one_is(make: Make, server: Sshd) -> None:
    """What this test computes is others' there."""
    up = make().bring_up()
    assert up.watch_far is not None
    with up.watch_far() as watching:
        _compute(0.5)
        seen = watching.telemetry()
    assert seen.host == server.far
    assert seen.external_s is not None
    assert seen.external_s > 0.3
    assert seen.elapsed_s > 0.5
    assert seen.external_steal_s is not None
    assert seen.servers_s is not None, "the engine that serves is no stranger"
    assert seen.clock_sources


def test_a_host_that_shares_this_kernel_is_watched_once(make: Make) -> None:
    assert make().bring_up().watch_far is None


@pytest.mark.usefixtures("apart")
def test_of_a_server_that_may_use_some_cpus_those_count(make: Make) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    up = make(server_cpus=[cpus[-1]]).bring_up()
    assert up.watch_far is not None
    with up.watch_far() as watching:
        os.sched_setaffinity(0, cpus[-1:])
        try:
            _compute(0.3)
        finally:
            os.sched_setaffinity(0, cpus)
        seen = watching.telemetry()
    assert seen.cpus == (cpus[-1],)
    assert seen.external_s is not None
    assert 0.05 < seen.external_s < seen.elapsed_s + 0.05


def _compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@needs_root
def test_each_end_has_a_tuning_of_its_own(make: Make, server: Sshd) -> None:
    """Both are this kernel, so each sets another parameter."""
    ours, theirs = "vm.laptop_mode", "vm.oom_dump_tasks"
    before = [sysctls.read(key) for key in (ours, theirs)]
    system = make(tuning={"sysctl": {ours: 9}}, server_tuning={"sysctl": {theirs: 0}})
    assert [one.severity for one in system.problems()] == []
    up = system.bring_up()
    try:
        assert [sysctls.read(key) for key in (ours, theirs)] == ["9", "0"]
        assert up.facts[f"tuning {ours}"] == f"9 (was {before[0]})"
        assert up.facts[f"tuning of the server {theirs}"] == f"0 (was {before[1]})"
        assert f"tuning {theirs}" not in up.facts
    finally:
        system.take_down()
    assert [sysctls.read(key) for key in (ours, theirs)] == before


@needs_root
def test_the_device_of_the_server_is_tuned(make: Make) -> None:
    """The address at which it listens is one of the loopback device."""
    file = Path("/sys/class/net/lo/tx_queue_len")
    before = file.read_text()
    system = make(server_tuning={"network": {"tx_queue_len": 1234}})
    assert [one.severity for one in system.problems()] == []
    up = system.bring_up()
    try:
        assert file.read_text() == "1234\n"
        assert up.facts["device of the server"] == "lo"
        told = up.facts["tuning of the server lo tx_queue_len"]
        assert told == f"1234 (was {before.strip()})"
    finally:
        system.take_down()
    assert file.read_text() == before


@needs_root
@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ({"sysctl": {"vm.no_such": 1}}, "server_tuning vm.no_such: "),
        (
            {"block": {"scheduler": "none"}},
            "server_tuning device scheduler: skipped: the system lies on no block device",
        ),
        (
            {"network": {"ring": {"rx": 4096}}},
            "server_tuning lo ring rx: skipped: the driver of lo has no ring to set",
        ),
        ({"servers": {"cpus": [0]}}, "that of a network test has server_cpus"),
    ],
)
def test_what_the_server_lacks_is_named(make: Make, profile: dict[str, object], said: str) -> None:
    (problem,) = make(server_tuning=profile).problems()
    assert problem.severity == "error"
    assert said in problem.text


@needs_root
def test_what_a_ready_profile_has_for_disks_is_skipped_at_a_server(make: Make) -> None:
    system = make(server_tuning="rhel6-throughput")
    assert [one.text for one in system.problems() if one.severity == "error"] == []


def test_ports_are_those_of_the_firewall(make: Make) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    up = make(
        port=port, data_ports="23000-23010", server_cpus=[min(os.sched_getaffinity(0))]
    ).bring_up()
    assert isinstance(up.target, FarEnd)
    assert up.target.port == port


def test_an_engine_that_does_not_run_there_leaves_nothing(
    make: Make, server: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTYARD_ENGINE", "/bin/false")
    with pytest.raises(TiltyardError, match="the engine cannot be executed"):
        make().bring_up()
    assert not list(server.home.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "message", "remedy"),
    [
        (
            {"ssh_options": ["-F", "none", "-p", "1"]},
            "Connection refused",
            "must work without a question",
        ),
        ({"address": "no-such-name.invalid"}, "no-such-name.invalid: ", "address = "),
    ],
)
def test_a_host_that_is_not_reached_is_named(
    make: Make, settings: dict[str, object], message: str, remedy: str
) -> None:
    (problem,) = make(**settings).problems()
    assert problem.severity == "error"
    assert message in problem.text
    assert problem.remedy is not None
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"server": "-oProxyCommand=true"},
        {"server": "user@host command"},
        {"server": "host", "data_ports": "20000"},
        {"server": "host", "data_ports": "30000-20000"},
    ],
)
def test_settings_that_are_none(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"server|data_ports"):
        HostsSettings.model_validate(settings)
