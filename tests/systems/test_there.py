"""Systems of any kind on another host, whose agent prepares them."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.hosts import host_state, needs_root
from support.looks import mounts_at
from support.patience import wait_until
from support.places import behind
from support.runs import Watcher, go_on, one_block, plan_of
from support.sshd import Sshd, sshd
from tiltyard.app.freeze import open_study
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.host.ledger import Ledger, PutBack, restore
from tiltyard.host.place import Place
from tiltyard.host.telemetry import FarWatch
from tiltyard.run.dry_run import dry_run
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System
from tiltyard.workloads import load

KEY = "vm.page_lock_unfairness"
LOOP: dict[str, Any] = {"filesystem": "ext4", "backing": {"image": "16M"}, "sysctl": {KEY: 9}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """Another host, on which nothing is left."""
    folder, before, interval = tmp_path / "far", host_state(tmp_path), sysctls.read(KEY)
    with sshd(folder / "server", state=folder / "state") as server:
        yield server
        wait_until(lambda: not list(server.home.iterdir()), "the copy is removed")
        # An agent whose lab was killed takes back what it has done meanwhile.
        wait_until(lambda: not list((folder / "state").glob("*")), "nothing is owed any more")
    assert (host_state(tmp_path), sysctls.read(KEY)) == (before, interval)


@pytest.fixture
def system(server: Sshd, tmp_path: Path) -> Iterator[System]:
    """A file system there."""
    with Ledger() as ledger:
        yield system_of(server, Site(tmp_path, tmp_path, ledger))


def system_of(server: Sshd, site: Site, **other: object) -> System:
    there = {"host": server.far, "ssh_options": server.options}
    return kind("loop-image").system("one", {**LOOP, **there, **other}, site)


def there(tmp_path: Path) -> Place:
    """A host behind a shell."""
    (home := tmp_path / "home").mkdir()
    return behind("sh", "-c", f'cd {home}; eval "$0 $*"')


@needs_root
def test_the_lab_is_killed_while_it_is_brought_up_or_is_up(server: Sshd, tmp_path: Path) -> None:
    """What is there puts everything back by itself."""
    for is_up in (False, True):
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            with Ledger() as ledger:
                one = system_of(server, Site(tmp_path, tmp_path, ledger))
                one.problems()
                os.write(writes, b"asked")
                one.bring_up()
                os.write(writes, b"up")
                time.sleep(600)
        os.close(writes)
        assert os.read(reads, 5) == b"asked"
        if is_up:
            assert os.read(reads, 2) == b"up"
        else:
            wait_until(lambda: sysctls.read(KEY) == "9", "it has begun")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reads)
        wait_until(lambda: not list(server.home.iterdir()), "it has ended")
        there = Place(server.address)
        assert (restore(there), restore()) == (PutBack((), ()),) * 2


@needs_root
def test_an_interrupt_here_stops_it_there(server: Sshd, tmp_path: Path) -> None:
    looks = [2]

    def checked() -> None:
        """At the second look it is under way."""
        looks[0] += 1
        if looks[0] == 2:
            raise InterruptedRunError("Ctrl-C")

    with Ledger() as ledger:
        site = Site(tmp_path, tmp_path, ledger, check=checked)
        one = system_of(server, site, backing={"image": "1G"})
        one.problems()
        looks[0] = 0
        with pytest.raises(InterruptedRunError, match="Ctrl-C"):
            one.bring_up()
        assert sysctls.read(KEY) != "9"
        one.bring_up()


@needs_root
def test_a_study_on_another_host_and_its_dry_run(server: Sshd, tmp_path: Path) -> None:
    there = {"host": server.far, "ssh_options": server.options}
    systems = tuple(
        SystemSpec.model_validate(
            {
                "name": name,
                "levels": {"filesystem": name},
                "kind": "loop-image",
                "settings": {**LOOP, **there, "filesystem": name},
            }
        )
        for name in ("ext2", "ext4")
    )
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    parts = dry_run(folder, systems)
    of_one = {each.part: each.lines for each in parts if each.system == "ext4"}
    told = " ".join(of_one[f"bring up on {server.far}"])
    assert "losetup --find --show --direct-io=on" in told
    assert "mkfs.ext4 " in told
    assert [each for each in of_one[f"take down on {server.far}"] if each.startswith("umount ")]
    (end,) = (each for each in parts if each.part == "at the end of the run")
    assert [line for line in end.lines if line.endswith(f".img, on {server.far}")]
    assert not list(server.home.iterdir())
    watcher, plan = Watcher(), plan_of(systems, blocks=1)
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert [record.outcome for record in watcher.records] == ["done"] * 2
    for record in watcher.records:
        seen = record.telemetry
        assert seen is not None
        assert seen.host == server.far
        assert (seen.own_bytes or 0) > 0, "the loop device was watched there"
        assert seen.foreign_bytes is not None
        assert seen.kernel_errors is not None
        assert seen.clock_sources
    for prepared in read_run(folder, plan).prepared:
        assert prepared.facts["host"] == server.far
        assert prepared.facts["file system"] == prepared.system
        assert f"tuning {KEY}" in prepared.facts


JOB = """\
[global]
include common.inc
bs=4k

[mail]
rw=randwrite
"""


@needs_root
@pytest.mark.parametrize("kind_name", ["remote", "loop-image"])
def test_a_job_file_is_carried_out_by_the_fio_of_that_host(
    server: Sshd, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, kind_name: str
) -> None:
    """It goes there with what it includes and names; this host has no fio."""
    monkeypatch.setattr(load, "_is_there", lambda need: False)
    monkeypatch.setenv("SIZE", "256k")
    (tmp_path / "mail.fio").write_text(JOB)
    (tmp_path / "common.inc").write_text("size=${SIZE}\n")
    places = [str(tmp_path / "far" / name) for name in ("a", "b")]
    for path in map(Path, places):
        path.mkdir()
    factor, levels, table = {
        "remote": ("directory", places, 'kind = "remote"'),
        "loop-image": ("filesystem", ["ext2", "ext4"], 'backing = { image = "16M" }'),
    }[kind_name]
    study = tmp_path / "study.toml"
    study.write_text(
        f'question = "q"\nfactors = {{ {factor} = {levels} }}\n[systems]\n{table}\n'
        f'host = "{server.far}"\nssh_options = {server.options}\n'
        '[[workload]]\nuse = "fio"\njob = "mail.fio"\n'
    )
    _, record = one_block(open_study(study, None))
    shutil.rmtree(state / "trusted")
    for trial in record.trials:
        assert trial.end is not None
        assert trial.end.usage.foreign_s is not None, "nobody else counts it there"
        assert {sample.at.get("job") for sample in trial.samples} - {None} == {"mail"}


@needs_root
def test_what_others_do_to_a_disk_there_is_seen_there(system: System, tmp_path: Path) -> None:
    """As here: what our file system moves is ours, and what others do to the disk below is not."""
    up = system.bring_up()
    assert up.watched is not None
    assert isinstance(up.target, Path)
    with FarWatch(up.place, up.watched) as watching:
        _write(up.target / "ours", 4)
        (tmp_path / "there").mkdir()
        _write(tmp_path / "there" / "theirs", 16)
        seen = watching.telemetry()
    assert seen.own_bytes is not None
    assert seen.own_bytes >= 4 * 2**20
    assert seen.foreign_bytes is not None
    assert seen.foreign_bytes >= 16 * 2**20
    with FarWatch(up.place, up.watched) as watching:
        assert up.lost() == ""
        up.place.host._process.kill()
        assert watching.telemetry().own_bytes is None, "nothing is known of a host that is lost"
        assert "that has prepared it has ended" in up.lost()
    assert watching.telemetry().host == str(up.place)


def _write(path: Path, mebibytes: int) -> None:
    with path.open("wb") as file:
        file.write(os.urandom(mebibytes * 2**20))
        os.fsync(file.fileno())


@needs_root
def test_a_host_of_a_placement_has_systems_of_any_kind(tmp_path: Path) -> None:
    with Ledger() as ledger:
        place = there(tmp_path)
        site = Site(tmp_path, tmp_path, ledger, place)
        system = kind("tmpfs").system("memory", {"size": "8M"}, site)
        up = system.bring_up()
        assert up.place == place
        assert isinstance(up.target, Path)
        assert up.target.is_relative_to(tmp_path / "home")
        assert mounts_at(up.target.parent)[-1].type == "tmpfs"
        said = subprocess.run((*up.engine, "--version"), capture_output=True, check=True).stdout
        assert said.startswith(b"tiltyard-engine ")
        system.take_down()
        assert not mounts_at(up.target.parent)
    assert not list((tmp_path / "home").iterdir())
