"""Keys of earlier versions: studies that have them are read, with one warning, and so are plans."""

import tomllib
from pathlib import Path

import pytest

from support.catalogue import CATALOGUE
from tiltyard.errors import OldKeyWarning
from tiltyard.run.differences import differences
from tiltyard.study.load import read_study
from tiltyard.study.locate import locate
from tiltyard.study.model import Study, SystemSpec
from tiltyard.study.problems import StudyFileError
from tiltyard.study.renamed import parameters_today, rename_old
from tiltyard.systems import KINDS
from tiltyard.systems.hosts import HostsSettings
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.systems.placement import pinned_cpus
from tiltyard.workloads.load import read_profile

PAIR = """question = "q"
[factors.ends]
far = { far_cpus = [1], sysctl = { near = { "net.ipv4.tcp_sack" = 0 } } }
any = { qdisc = { far = "pfifo limit 9" } }
[factors]
offloads = { near = { near = { tso = false } }, on = { tso = true } }
[systems]
kind = "pair"
near_cpus = [0]
[[workload]]
use = "tcp_stream"
"""
HOSTS = """question = "q"
[factors]
far_cpus = { any = [], first = [0] }
[factors.place]
here = { kind = "loopback" }
there = { far = "bench@10.0.0.2" }
[[workload]]
use = "tcp_stream"
"""


ENDS = """question = "q"
[factors]
mtu = [1500, 9000]
[[workload]]
use = "tcp_stream"
far = { threads = 1 }
[[workload]]
use = "program"
command = ["true"]
servers = [{ command = ["cat"] }, { command = ["cat"], at = "far" }]
"""
PROFILE = """about = "a program of two ends"
description = "It goes there."
lineage = "nobody"
[parameters.far]
type = "int"
help = "How far it goes."
default = 1
[program]
command = ["true", "{far}"]
[[program.servers]]
at = "near"
command = ["cat"]
"""


def read(text: str) -> tuple[Study, list[str]]:
    with pytest.warns(OldKeyWarning) as warned:
        study = read_study(text, Path("study.toml"), CATALOGUE, KINDS)
    return study, [str(one.message) for one in warned]


def test_a_level_keeps_its_name_whatever_settings_are_called() -> None:
    study, warned = read(PAIR)
    assert warned == [
        "study.toml: line 9: near_cpus is now client_cpus; line 3: far_cpus is now server_cpus; "
        "line 6: near is now client; line 3: near is now client; line 4: far is now server"
    ]
    found = [PairSettings.model_validate(system.settings) for system in study.systems]
    assert [system.levels["ends"] for system in study.systems] == ["far", "far", "any", "any"]
    assert [one.server_cpus for one in found] == [(1,), (1,), (), ()]
    assert {one.client_cpus for one in found} == {(0,)}
    assert found[0].sysctls_of("client") == {"net.ipv4.tcp_sack": "0"}
    assert found[2].qdisc_of("server") == ("pfifo", "limit", "9")
    assert found[0].offloads_of("client") == {"tso": False}


def test_a_factor_may_have_the_old_name() -> None:
    study, warned = read(HOSTS)
    assert len(warned) == 1
    assert [system.levels for system in study.systems] == [
        {"server_cpus": cpus, "place": place}
        for place in ("here", "there")
        for cpus in ("any", "first")
    ]
    assert study.systems[2].settings["server"] == "bench@10.0.0.2"


def test_ends_of_workloads_and_of_servers_have_one_name(tmp_path: Path) -> None:
    document = tomllib.loads(ENDS)
    told = r'study\.toml: line 6: far is now server; line 10: at = "far" is now "server"$'
    with pytest.warns(OldKeyWarning, match=told):
        rename_old(document, locate(ENDS), Path("study.toml"))
    stream, program = document["workload"]
    assert stream == {"use": "tcp_stream", "server": {"threads": 1}}
    assert program["servers"] == [{"command": ["cat"]}, {"command": ["cat"], "at": "server"}]
    path = tmp_path / "own.toml"
    path.write_text(PROFILE)
    with pytest.warns(OldKeyWarning, match=r'own\.toml: line 11: at = "near" is now "client"$'):
        profile = read_profile(path)
    table = profile.program.model_dump()
    assert table["servers"] == [{"command": ["cat"], "at": "client"}]
    assert [*profile.parameters] == ["far"]


def test_a_parameter_of_a_profile_may_have_the_old_name() -> None:
    """Only a table is one of an end."""
    text = '[[workload]]\nuse = "jump"\nfar = 3\n'
    document = tomllib.loads(text)
    rename_old(document, locate(text), Path("study.toml"))
    assert document == tomllib.loads(text)


def test_a_report_has_the_names_of_today() -> None:
    planned = {"near": {"threads": 1}, "far": {}, "servers": [{"at": "far"}, {"command": "a"}]}
    assert parameters_today(planned) == {
        "client": {"threads": 1},
        "server": {},
        "servers": [{"at": "server"}, {"command": "a"}],
    }


def test_a_setting_under_both_names_is_refused() -> None:
    both = PAIR.replace("near_cpus = [0]", "near_cpus = [0]\nclient_cpus = [0]")
    with pytest.raises(
        StudyFileError, match=r"9: systems\.near_cpus: is the old name of client_cpu"
    ):
        read_study(both, Path("study.toml"), CATALOGUE, KINDS)


def test_a_plan_of_earlier_is_one_of_today() -> None:
    ends = {"near": {"net.ipv4.tcp_sack": "0"}, "far": {}}
    planned = {"near_cpus": [0], "far_cpus": [1], "sysctl": ends, "qdisc": {"near": "bfifo"}}
    found = PairSettings.model_validate(planned)
    assert (found.client_cpus, found.server_cpus) == ((0,), (1,))
    assert found.sysctls_of("client") == {"net.ipv4.tcp_sack": "0"}
    assert found.qdisc_of("client") == ("bfifo",)
    assert pinned_cpus(planned) == {0, 1}
    assert pinned_cpus({"filesystem": "ext4"}) == set()
    assert HostsSettings.model_validate({"far": "me@there"}).server == "me@there"


def test_a_fact_of_earlier_follows_from_its_setting() -> None:
    systems = [
        SystemSpec(name=name, levels={}, kind="pair", settings={"far_cpus": cpus})
        for name, cpus in (("a", [0]), ("b", [1]))
    ]
    facts = {"a": {"CPUs of the far end": "0"}, "b": {"CPUs of the server": "1"}}
    (found,) = differences(facts, systems, {})
    assert (found.fact, found.follows_from) == ("CPUs of the server", ("far_cpus",))
