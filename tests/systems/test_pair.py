"""Real network namespaces, joined by a real pair of devices."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.far import Far, here_and_there
from support.hosts import needs_root
from support.networks import Make, left_behind, parameters, systems_of
from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import FarEnd
from tiltyard.host import sysctls
from tiltyard.host.links import namespace_path
from tiltyard.host.place import HERE, Place
from tiltyard.systems.kind import Up
from tiltyard.systems.pair.settings import PairSettings

pytestmark = needs_root


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    with systems_of("pair", tmp_path, far) as make:
        yield make


def client(up: Up, *argv: str) -> str:
    """What a command prints where the client is; "another host" has our kernel."""
    prefix = list(up.prefix)
    if up.place.is_remote:
        words = shlex.split(up.engine[-1])
        prefix = words[: words.index("sh")]
    return subprocess.run(
        (*prefix, *argv), check=True, capture_output=True, text=True
    ).stdout.strip()


def reaches(up: Up) -> bool:
    """Whether the client can connect to the server."""
    assert isinstance(up.target, FarEnd)
    connect = f"import socket; socket.create_connection(({up.target.address!r}, {up.target.port}))"
    return client(up, sys.executable, "-c", connect) == ""


@here_and_there
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_up_and_down(make: Make, family: str) -> None:
    system = make(family=family)
    assert system.problems() == []
    up = system.bring_up()
    assert isinstance(up.target, FarEnd)
    assert (":" in up.target.address) == (family == "ipv6")
    assert reaches(up)
    (namespace,) = {command.argv[3] for command in up.commands[:1]}
    assert namespace_path(namespace).exists()
    system.take_down()
    assert left_behind(namespace) == []
    system.take_down()


def test_nothing_of_the_host_is_in_a_pair(make: Make) -> None:
    up = make().bring_up()
    devices = [link["ifname"] for link in json.loads(client(up, "ip", "-j", "link"))]
    assert devices == ["lo", "client"]
    assert client(up, "ip", "route", "show", "default") == ""


@here_and_there
def test_each_turn_is_a_fresh_pair_with_a_fresh_secret(make: Make) -> None:
    system, seen = make(), []
    for _ in range(2):
        up = system.bring_up()
        assert isinstance(up.target, FarEnd)
        # The inode tells one network namespace from another, whatever its name.
        seen.append((up.target.secret, client(up, "readlink", "/proc/self/ns/net")))
        client(up, "ip", "link", "add", "left-over", "type", "veth")
        assert "left-over" in client(up, "ip", "link")
        system.take_down()
    (one, _), (other, _) = seen
    assert one != other
    assert "left-over" not in client(system.bring_up(), "ip", "link")


@here_and_there
def test_the_path_is_set_as_wished_and_told(make: Make) -> None:
    up = make(
        mtu=9000,
        offloads={"tso": False, "server": {"gro": "on"}},
        qdisc={"client": "pfifo limit 77"},
    ).bring_up()
    assert up.facts["MTU"] == "9000"
    assert up.facts["queueing discipline"] == "client: pfifo limit 77p, server: noqueue"
    assert up.facts["offloads off"] == "client: tso gro, server: tso"
    (link,) = json.loads(client(up, "ip", "-j", "link", "show", "client"))
    assert (link["mtu"], link["qdisc"]) == (9000, "pfifo")
    (features,) = json.loads(client(up, "ethtool", "--json", "-k", "client"))
    assert not features["tcp-segmentation-offload"]["active"]


def test_a_device_can_receive_in_a_thread(make: Make) -> None:
    system = make(threaded=True)
    up = system.bring_up()
    assert up.facts["threaded NAPI"] == "on"
    assert "gro" in up.facts["offloads on"].split()
    system.take_down()
    with pytest.raises(TiltyardError, match="threaded"):
        make(threaded=True, offloads={"gro": False}).bring_up()


def test_a_rate_is_a_token_bucket_at_both_ends(make: Make) -> None:
    up = make(rate="475mbit").bring_up()
    assert up.facts["queueing discipline"].startswith("tbf rate 475Mbit burst 2")
    (bucket,) = json.loads(client(up, "tc", "-j", "qdisc", "show", "dev", "client"))
    assert bucket["options"]["rate"] * 8 == 475_000_000


@here_and_there
def test_parameters_are_each_ends_own_where_the_kernel_lets_them_be(make: Make) -> None:
    before = parameters()
    up = make(
        congestion_control="cubic",
        sysctl={
            "net.core.somaxconn": 123,
            "client": {"net.ipv4.tcp_rmem": [4096, 100_000, 200_000]},
        },
    ).bring_up()
    assert client(up, "sysctl", "-n", "net.ipv4.tcp_congestion_control") == "cubic"
    assert client(up, "sysctl", "-n", "net.core.somaxconn") == "123"
    assert up.facts["congestion control"] == "cubic"
    assert up.facts["net.core.somaxconn"] == "123"
    assert up.facts["net.ipv4.tcp_rmem"].startswith("client: 4096 100000 200000, server: ")
    changed = {key for key, value in parameters().items() if value != before[key]}
    assert changed <= {"net.ipv4.tcp_allowed_congestion_control"}


@here_and_there
def test_parameters_of_the_whole_host_are_set_there_and_put_back(make: Make) -> None:
    before = parameters()
    system = make(sysctl={"net.core.netdev_max_backlog": 3210}, busy_poll=11)
    up = system.bring_up()
    assert sysctls.read("net.core.netdev_max_backlog") == "3210"
    assert sysctls.read("net.core.busy_poll") == sysctls.read("net.core.busy_read") == "11"
    assert up.facts["net.core.netdev_max_backlog"] == "3210"
    system.take_down()
    assert parameters() == before


def test_a_path_holds_packets_of_its_own_size() -> None:
    """20 ms of queue and 10 ms of way at 10 Gbit/s."""
    limits = {
        mtu: PairSettings(delay="20ms", mtu=mtu).qdisc_of("client")[2] for mtu in (1500, 9000)
    }
    assert limits == {1500: "25000", 9000: "4167"}


def test_the_ends_are_put_on_cpus(make: Make) -> None:
    cpu = min(os.sched_getaffinity(0))
    up = make(client_cpus=[cpu], server_cpus=[cpu]).bring_up()
    assert up.cpus == (cpu,)
    assert up.facts["CPUs of the server"] == str(cpu)


def test_a_delay_is_what_a_round_trip_takes_longer(make: Make) -> None:
    """Or this kernel has no netem: then that is all that is wrong, and tc took each word of it."""
    system = make(delay="20ms", loss="0.001%", rate="100mbit")
    if problems := system.problems():
        (problem,) = problems
        assert "Specified qdisc kind is unknown" in problem.text
        assert "sch_netem" in str(problem.remedy)
        return
    up = system.bring_up()
    ping = (*up.prefix, "ping", "-c", "3", "-i", "0.2", "198.18.0.2")
    text = HERE.run(ping).stdout
    best_ms = float(text.rpartition("= ")[2].partition("/")[0])
    assert 20 <= best_ms < 40


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offloads": {"nonesuch": True}}, r"ethtool -K client nonesuch on: .*not found"),
        ({"offloads": {"tx-checksum-ipv4": True}}, r"tx-checksum-ipv4"),
        ({"qdisc": "nonesuch"}, r"tc -n .* root nonesuch: .*qdisc kind is unknown"),
        ({"sysctl": {"net.ipv4.tcp_rmem": "1 0 -1"}}, r"sysctl .*tcp_rmem.*Invalid argument"),
        ({"sysctl": {"net.core.netdev_max_backlog": "x"}}, r"backlog.*Invalid argument"),
    ],
)
def test_a_step_that_fails_leaves_nothing(
    make: Make, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(TiltyardError, match=message):
        make(**settings).bring_up()


@pytest.mark.parametrize(
    ("settings", "text", "remedy"),
    [
        ({"qdisc": "nonesuch limit 5"}, '"nonesuch limit 5" is not taken: ', "sch_nonesuch"),
        ({"qdisc": "pfifo limit many"}, '"pfifo limit many" is not taken: ', "man tc-pfifo"),
        ({"offloads": {"tzo": True}}, 'no offload "tzo"', "tso"),
        ({"congestion_control": "vegan"}, 'no congestion control "vegan"; it has', "tcp_vegan"),
        ({"sysctl": {"net.core.somaxcon": 1}}, "no net.core.somaxcon that", "net.core.somaxconn"),
        ({"sysctl": {"net.ipv4.tcp_available_congestion_control": "x"}}, "can be set", "net."),
        (
            {"sysctl": {"client": {"net.core.busy_read": 1}, "server": {"net.core.busy_read": 2}}},
            "net.core.busy_read holds for the whole host",
            "outside client and server",
        ),
        ({"server_cpus": [4095]}, "there is no CPU 4095", "one of 0"),
    ],
)
def test_what_the_kernel_would_not_take_is_seen_beforehand(
    make: Make, settings: dict[str, object], text: str, remedy: str
) -> None:
    (problem,) = make(**settings).problems()
    assert problem.severity == "error"
    assert text in problem.text
    assert problem.remedy is not None
    assert remedy in problem.remedy


def test_without_root_the_way_out_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_root", False)
    (problem,) = make().problems()
    assert problem.text == "only root can make network namespaces"
    assert problem.remedy is not None
    assert 'kind = "loopback"' in problem.remedy


def test_a_missing_tool_is_named_with_its_package(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Place, "program", lambda _, name: None)
    found = make().problems()
    assert "ethtool is not installed" in {problem.text for problem in found}
    assert any("iproute2" in (problem.remedy or "") for problem in found)
