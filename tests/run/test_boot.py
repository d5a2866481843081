"""``reset = "reboot"``: a host is booted before each turn, and the run goes on after each boot.

No host is booted here: a program of ours stands in for ``systemctl``, and what says
which boot this is can be changed. All else is real: the run, its ledger, the image that it keeps.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, directory_system, go_on, image_system, place, plan_of
from support.sshd import sshd
from tiltyard.errors import BootingError, HostLacksError, RefusedError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import processes, resumption
from tiltyard.host.host import Host as Agent
from tiltyard.host.host import here, hosts
from tiltyard.host.ledger import recover, restore
from tiltyard.plan.model import Plan
from tiltyard.run.boot import boots, require_allowed
from tiltyard.run.history import History
from tiltyard.run.journal import BootAsked, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.systems.hosts import HostsSettings

BOOTS = """#!/bin/sh
case "$*" in
    *reboot*) echo "$0 $*" >>{calls}; {then} ;;
    enable*|disable*) echo "${{1}}d" >{state} ;;
    show*) cat {state} ;;
esac
"""


class Host:
    """A host that only says that it was booted."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.boot_id = home / "calls", home / "boot_id"
        self.units, self._programs = home / "units", home / "bin"
        self.enabled = home / "state"
        for path in (self.units, self._programs):
            path.mkdir()
        self.boot_id.write_text("boot 0\n")
        self.calls.touch()
        self.enabled.write_text("disabled\n")
        self.answers(f"wc -l <{self.calls} >{self.boot_id}")
        monkeypatch.setenv("PATH", f"{self._programs}:{os.environ['PATH']}")
        monkeypatch.setattr(processes, "BOOT_ID", self.boot_id)
        monkeypatch.setattr(resumption, "_UNITS", self.units)
        monkeypatch.setattr(resumption, "SYSTEMD", str(home))

    def answers(self, then: str) -> None:
        """What happens when a boot is asked for."""
        program = self._programs / "systemctl"
        program.write_text(BOOTS.format(calls=self.calls, state=self.enabled, then=then))
        program.chmod(0o755)

    @property
    def said(self) -> list[str]:
        """What the programs were told, without their directory."""
        return [line.rpartition("/")[2] for line in self.calls.read_text().splitlines()]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """One with systemd."""
    home = tmp_path / "host"
    home.mkdir()
    return Host(home, monkeypatch)


@pytest.fixture
def study(tmp_path: Path) -> tuple[StudyFolder, Plan]:
    """Two file systems on one image, the second one filled; one block."""
    systems = (
        image_system("ext2", "16M", reset="reboot"),
        image_system("ext4", "16M", reset="reboot", state={"filled": "40%"}),
    )
    plan = plan_of(systems, blocks=2)
    return place(tmp_path / "study", plan), plan


def start(study: tuple[StudyFolder, Plan], engine: Engine, *, allow: bool = True) -> str:
    """The command, once."""
    folder, plan = study
    return run_study(folder, plan, engine, go_on, Watcher(), allow_reboot=allow)


@needs_root
def test_the_run_goes_on_after_each_boot(
    study: tuple[StudyFolder, Plan], engine: Engine, host: Host, state: Path
) -> None:
    folder, plan = study
    images, copies = set(), set()
    assert boots(plan) == {"this host": 4}
    for number in range(4):
        with pytest.raises(BootingError, match="the run goes on by itself"):
            start(study, engine)
        (unit,) = host.units.iterdir()
        assert host.enabled.read_text() == "enabled\n"
        command = f"{sys.executable} -m tiltyard run {folder.root} --allow-reboot"
        assert command in unit.read_text().replace('"', "").replace("\n", " ")
        assert len(read_run(folder, plan).trials) == number
        assert len(list(state.glob("*.ops"))) == 1
        assert recover() == [], "what is kept for after the boot is nobody else's to take back"
        if number:
            images |= {path.stat().st_ino for path in folder.work.glob("*shared*.img")}
            copies |= {path.stat().st_ino for path in folder.work.glob("*state-*.img")}
    assert start(study, engine).startswith("all planned blocks are done")
    assert len(images) == 1, "the image stays where it lies"
    assert len(copies) == 1, "the state is made once"
    assert not list(host.units.iterdir())
    assert not folder.work.exists()
    record = read_run(folder, plan)
    assert [trial.outcome for trial in record.trials] == ["done"] * 4
    assert record.resumed_blocks == ()
    assert all("host booted before the turn" in each.facts for each in record.prepared)
    asked = [each for each in read_journal(folder.journal) if isinstance(each.event, BootAsked)]
    assert len(asked) == 4
    assert sum("reboot" in line for line in host.said) == 4


@needs_root
def test_the_host_of_a_client_is_booted_and_the_network_is_measured_then(
    tmp_path: Path, engine: Engine, host: Host, state: Path
) -> None:
    brief = WorkloadSpec(name="rr", use="tcp_rr", parameters={"transactions": 20})
    with sshd(tmp_path / "server") as server:
        settings = {"server": server.far, "ssh_options": server.options, "reboots": "client"}
        plan = plan_of((network(**settings),), workloads=(brief,), blocks=2)
        study = place(tmp_path / "study", plan), plan
        for _ in range(2):
            with pytest.raises(BootingError, match="the run goes on by itself"):
                start(study, engine)
            assert not [*server.home.iterdir()], "nothing there waits for the boot"
        assert start(study, engine).startswith("all planned blocks are done")
    record = read_run(*study)
    assert [trial.reason for trial in record.trials] == [None] * 2
    booted = ["host booted before the turn" in each.facts for each in record.prepared]
    assert booted == [True] * 2
    assert sum("reboot" in line for line in host.said) == 2
    assert not list(state.iterdir())
    assert not list(host.units.iterdir())


def network(**settings: object) -> SystemSpec:
    """Between this host and another one, which are booted."""
    spec = {"name": "two", "levels": {}, "kind": "hosts"}
    return SystemSpec.model_validate({**spec, "settings": {"reset": "reboot", **settings}})


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [
        ({}, {"bench@sut": 3}),
        ({"reboots": "client"}, {"this host": 3}),
        ({"reboots": "both"}, {"this host": 3, "bench@sut": 3}),
    ],
)
def test_of_a_network_one_host_is_booted_or_both(
    settings: dict[str, str], hosts: dict[str, int]
) -> None:
    assert boots(plan_of((network(server="bench@sut", **settings),), blocks=3)) == hosts


def test_hosts_are_named_only_where_one_is_booted() -> None:
    HostsSettings.model_validate({"server": "bench@sut", "reset": "reboot", "reboots": "both"})
    with pytest.raises(ValueError, match='reboots = "both" goes with reset = "reboot"'):
        HostsSettings.model_validate({"server": "bench@sut", "reboots": "both"})


@needs_root
def test_a_boot_that_did_not_happen_is_not_asked_for_again(
    study: tuple[StudyFolder, Plan], engine: Engine, host: Host, state: Path
) -> None:
    host.answers("true")
    with pytest.raises(BootingError):
        start(study, engine)
    for _ in range(2):
        with pytest.raises(TiltyardError, match=r"ext2: this host was asked to boot .*has not"):
            start(study, engine)
    assert sum("reboot" in line for line in host.said) == 1
    assert not list(state.iterdir())
    assert not list(host.units.iterdir())
    host.boot_id.write_text("by hand\n")
    host.answers(f"echo again >{host.boot_id}")
    with pytest.raises(BootingError, match="block 1, ext4"):
        start(study, engine)
    assert restore().left == ()


@needs_root
def test_a_boot_that_is_refused_leaves_nothing(
    study: tuple[StudyFolder, Plan], engine: Engine, host: Host, state: Path
) -> None:
    host.answers("echo 'Access denied' >&2; exit 1")
    with pytest.raises(TiltyardError, match="reboot: Access denied"):
        start(study, engine)
    assert not list(state.iterdir())
    assert not list(host.units.iterdir())


@needs_root
def test_a_power_cut_before_anything_is_kept_makes_it_anew(
    study: tuple[StudyFolder, Plan],
    engine: Engine,
    host: Host,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The journal is written, and the agent has not heard of it."""
    with monkeypatch.context() as cut:
        cut.setattr(Agent, "leave", lambda *_, **__: os.kill(here().pid, signal.SIGKILL))
        with pytest.raises(BootingError):
            start(study, engine)
    hosts.close()
    assert len(list(state.iterdir())) == 1
    assert host.said == []
    host.boot_id.write_text("after the cut\n")
    with pytest.raises(BootingError, match="block 1, ext4"):
        start(study, engine)
    assert [trial.reason for trial in read_run(*study).trials] == [None]
    assert restore().left == ()
    assert not list(state.iterdir())
    assert not list(host.units.iterdir())


@needs_root
def test_restore_gives_the_run_up(
    study: tuple[StudyFolder, Plan], engine: Engine, host: Host, state: Path
) -> None:
    with pytest.raises(BootingError):
        start(study, engine)
    (unit,) = host.units.iterdir()
    assert any(str(unit) in line for line in restore().done)
    assert not list(host.units.iterdir())
    assert not list(state.iterdir())


def test_nothing_is_booted_that_only_the_study_asks_for(
    study: tuple[StudyFolder, Plan], engine: Engine, host: Host
) -> None:
    with pytest.raises(
        RefusedError, match=r"this host up to 4 times\. If that is .*--allow-reboot"
    ):
        start(study, engine, allow=False)
    assert host.said == []
    assert History(read_journal(study[0].journal)).starts == []


def test_booting_another_host_needs_the_permission_and_nothing_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumption, "SYSTEMD", str(tmp_path / "none"))
    monkeypatch.setattr("tiltyard.host.place.Place.is_root", False)
    systems = [image_system("ext4", "16M", reset="reboot", host="root@sut")]
    plan = plan_of((*systems, directory_system("here", tmp_path / "here")), blocks=3)
    folder = place(tmp_path / "study", plan)
    with pytest.raises(RefusedError, match=r"boots hosts before turns: root@sut up to 3 times\."):
        require_allowed(folder, plan, allowed=False)
    require_allowed(folder, plan, allowed=True)


def test_a_host_that_could_not_go_on_is_not_booted(
    study: tuple[StudyFolder, Plan],
    engine: Engine,
    host: Host,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resumption, "SYSTEMD", str(tmp_path / "none"))
    monkeypatch.setattr("tiltyard.host.place.Place.is_root", True)
    with pytest.raises(HostLacksError, match="systemd is not process 1"):
        start(study, engine)
    assert host.said == []


def test_other_studies_need_no_permission(tmp_path: Path, engine: Engine, host: Host) -> None:
    plan = plan_of((directory_system("a", tmp_path / "disk"),), blocks=1)
    assert boots(plan) == {}
    start((place(tmp_path / "study", plan), plan), engine, allow=False)
    assert host.said == []


def test_odd_names_survive_the_unit() -> None:
    odd = 'a "b" 50% $HOME'
    unit = resumption._unit(("echo", odd), {"A": "x%y"}, Path("/100% log"), "about 5%")
    assert 'ExecStart="echo" "a \\"b\\" 50%% $$HOME"' in unit
    assert 'Environment="A=x%%y"' in unit
    assert "Description=about 5%%" in unit


def test_systemd_starts_the_unit_last(tmp_path: Path) -> None:
    """It breaks no order of what this host has installed, and is enabled as it says."""
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    written = resumption._unit(("true",), {}, tmp_path / "log", "about")
    (units / "tiltyard-x.service").write_text(written)
    enable = ("systemctl", f"--root={tmp_path}", "enable", "tiltyard-x.service")
    subprocess.run(enable, check=True, capture_output=True)
    own = {**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"}
    verify = ("systemd-analyze", "verify", "--man=no", "multi-user.target")
    found = subprocess.run(verify, check=True, capture_output=True, text=True, env=own)
    # Of units that are not ours it may say more.
    assert "ordering cycle" not in found.stderr
    assert "tiltyard-x" not in found.stderr
    links = [path.readlink().name for path in units.glob("multi-user.target.wants/*")]
    assert links == ["tiltyard-x.service"]
