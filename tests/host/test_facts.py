import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.told import SERVER
from tiltyard.errors import HostLacksError
from tiltyard.host.doctor import Check, examine
from tiltyard.host.facts import ABSENT, host_facts
from tiltyard.host.host import Host
from tiltyard.host.mounts import Mount
from tiltyard.host.packages import Tool, install_command, load_command
from tiltyard.host.place import HERE, Place
from tiltyard.host.record import SECTIONS, RecordRequest, take
from tiltyard.wire import HostFound


def test_every_fact_has_a_value_in_words(tmp_path: Path) -> None:
    facts = host_facts(take(RecordRequest(tmp_path)))
    assert all(value and "\n" not in value for value in facts.values()), facts
    assert facts["kernel"].startswith("Linux ")
    assert " on " in facts["work directory on"]
    assert facts["memory"] != ABSENT


def test_the_kernel_command_line_stays_private(tmp_path: Path) -> None:
    words = set(Path("/proc/cmdline").read_text().split())
    assert not words & set(host_facts(take(RecordRequest(tmp_path))).values())


def test_hosts_are_told_apart_by_modules_links_and_settings_of_the_firmware() -> None:
    seen = replace(SERVER, subject=RecordRequest(Path("/srv/study")))
    facts = host_facts({section.name: section.tell(seen) for section in SECTIONS})
    assert facts["memory modules"].startswith("2 × 2 GB DDR3")
    assert facts["PCI Express links"].startswith("0000:02:00.0 5.0 GT/s x8")
    assert facts["SELinux"] == "permissive"
    assert facts["CPU quota"] == "1.5 of 4 CPUs"
    assert len(facts["firmware settings"]) == 64


def checks(tmp_path: Path, *tools: Tool) -> dict[str, Check]:
    found = examine(tools, lambda: "1.2.3", tmp_path)
    return {check.name: check for check in found}


def test_a_module_is_named_only_where_there_are_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_directory", lambda *_: True)
    assert load_command(HERE, "veth") == "modprobe veth"
    monkeypatch.setattr(Place, "is_directory", lambda *_: False)
    assert load_command(HERE, "veth") == "a kernel with veth: this one has no modules"


def test_the_doctor_looks_at_everything(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert found["engine"].meaning == "version 1.2.3"
    assert {check.status for check in found.values()} <= {"ok", "limited", "missing"}
    assert all(check.meaning for check in found.values())


def test_a_lacking_tool_comes_with_the_command_that_installs_it(tmp_path: Path) -> None:
    lacking = checks(tmp_path, Tool("mkfs.nonesuch", "nonesuch-progs", ("-V",)))["mkfs.nonesuch"]
    assert lacking.status == "limited"
    assert lacking.remedy is not None
    assert "nonesuch-progs" in lacking.remedy


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install -y --no-install-recommends xfsprogs btrfs-progs"),
        ("dnf", "dnf install -y xfsprogs btrfs-progs"),
        ("pacman", "pacman -S --noconfirm xfsprogs btrfs-progs"),
        (None, "install the package xfsprogs btrfs-progs"),
    ],
)
def test_the_package_manager_that_is_there(
    manager: str | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {manager: f"/usr/bin/{manager}"} if manager else {}
    found = HostFound(files={}, links={}, programs=there, space={}, outputs=[], cut=[])
    monkeypatch.setattr(Host, "read", lambda *_, **asked: found)
    assert install_command(HERE, "xfsprogs", "btrfs-progs", "xfsprogs") == command


def test_a_lacking_engine_is_missing_not_limited(tmp_path: Path) -> None:
    def lacking() -> str:
        raise HostLacksError("there is no engine")

    found = {check.name: check for check in examine((), lacking, tmp_path)}
    assert found["engine"].status == "missing"
    assert found["engine"].meaning == "there is no engine"
    assert "no engine to look with" in found["this host"].meaning
    assert "record of changes" in found


def test_state_that_cannot_be_written_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiltyard.host.doctor.os.access", lambda _, mode: mode != os.W_OK)
    found = checks(tmp_path)["record of changes"]
    assert (found.status, found.remedy) == ("missing", "export TILTYARD_STATE=DIRECTORY")


@pytest.mark.parametrize(
    ("kind", "options", "controllers", "status", "remedy"),
    [
        ("cgroup", "rw,memory", "", "ok", None),
        ("cgroup2", "rw", "cpu memory\n", "ok", None),
        ("cgroup2", "rw", "cpu\n", "limited", "echo +memory > {}/cgroup.subtree_control"),
        ("cgroup", "rw,cpu", "", "limited", "mount -t cgroup2 cgroup2 /sys/fs/cgroup"),
    ],
)
def test_a_cache_that_cannot_be_bounded_comes_with_the_command_that_mends_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    options: str,
    controllers: str,
    status: str,
    remedy: str | None,
) -> None:
    (tmp_path / "cgroup.subtree_control").write_text(controllers)
    only = Mount(device="0:5", target=tmp_path, type=kind, source=kind, options=options)
    monkeypatch.setattr(Place, "mounts", lambda _: [only])
    found = checks(tmp_path)["bounded cache"]
    assert found.status == status
    assert found.remedy == (remedy and remedy.format(tmp_path))
