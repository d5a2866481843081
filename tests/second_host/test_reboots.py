"""Another host is booted before each turn: a guest with its own kernel and disk, for real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, go_on, image_system, place, plan_of
from support.second_host import HOME, STATE, SecondHost, second_host
from tiltyard.executors.engine import Engine
from tiltyard.host.ledger import Ledger
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

pytestmark = needs_root

BOOTS = ["busybox", "reboot", "-f"]
"""The guest has no init that would end services first."""


@pytest.fixture(scope="module")
def host() -> Iterator[SecondHost]:
    with second_host() as host:
        yield host


class _Looking(Watcher):
    """Asks the host, when a trial begins, what outlasts its boots."""

    def __init__(self, host: SecondHost) -> None:
        super().__init__()
        self._host = host
        self.boots: list[str] = []
        self.files: list[set[str]] = []

    def trial_started(self, *_: object) -> None:
        self.boots.append(self._host.ask("cat /proc/sys/kernel/random/boot_id"))
        inodes = self._host.ask(f"find {HOME} -name '*.img' -printf '%i %f\\n'")
        self.files.append(set(inodes.splitlines()))


def test_a_host_is_booted_before_each_turn_and_keeps_the_image(
    tmp_path: Path, host: SecondHost, state: Path
) -> None:
    given = {"host": host.far, "ssh_options": host.options, "reboot_command": BOOTS}
    system = image_system("ext4", "16M", reset="reboot", **given)
    plan = plan_of((system,), blocks=2)
    folder, watcher = place(tmp_path / "study", plan), _Looking(host)
    first = host.ask("cat /proc/sys/kernel/random/boot_id")
    run_study(folder, plan, Engine.find(), go_on, watcher, allow_reboot=True)
    record = read_run(folder, plan)
    assert [trial.reason for trial in record.trials] == [None, None]
    assert len({first, *watcher.boots}) == 3
    assert len(watcher.files[0]) == 1
    assert watcher.files[0] == watcher.files[1], "the image is laid out once"
    for prepared in record.prepared:
        assert prepared.facts["host booted before the turn"].startswith("yes; up for ")
    assert not [note for note in watcher.told if "has changed" in note]
    assert host.ask(f"find {HOME} {STATE} -mindepth 1; losetup -a") == ""
    assert not [*state.iterdir()]


def test_a_network_there_is_measured_after_a_boot(
    tmp_path: Path, host: SecondHost, state: Path
) -> None:
    settings = {
        "host": host.far, "ssh_options": host.options, "reset": "reboot", "reboot_command": BOOTS,
    }  # fmt: skip
    system = SystemSpec.model_validate(
        {"name": "there", "levels": {"on": "there"}, "kind": "loopback", "settings": settings}
    )
    brief = WorkloadSpec(name="rr", use="tcp_rr", parameters={"transactions": 20})
    plan = plan_of((system,), workloads=(brief,), blocks=1)
    folder = place(tmp_path / "study", plan)
    first = host.ask("cat /proc/sys/kernel/random/boot_id")
    run_study(folder, plan, Engine.find(), go_on, watcher := _Looking(host), allow_reboot=True)
    (trial,) = read_run(folder, plan).trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert watcher.boots[0] != first
    assert not [*state.iterdir()]


def test_the_host_of_a_server_is_booted_too(tmp_path: Path, host: SecondHost, state: Path) -> None:
    settings = {
        "server": host.far, "ssh_options": host.options, "reset": "reboot", "reboot_command": BOOTS,
    }  # fmt: skip
    first = host.ask("cat /proc/sys/kernel/random/boot_id")
    with Ledger() as ledger:
        site = Site(tmp_path, tmp_path, ledger)
        system = kind("hosts").system("two", settings, site)
        assert [one.text for one in system.problems() if one.severity == "error"] == []
        (fact, value) = next(iter(system.boot().items()))
    assert (fact, value[:11]) == ("host of the server booted before the turn", "yes; up for")
    assert host.ask("cat /proc/sys/kernel/random/boot_id") != first
    assert host.ask(f"find {HOME} {STATE} -mindepth 1") == ""
    assert not [*state.iterdir()]
