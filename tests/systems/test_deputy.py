"""Deputies: how they are started and end, and that a host is as before, whatever is killed."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.hosts import host_state, needs_root
from support.patience import PATIENCE_S, wait_until
from support.runs import Watcher, go_on, one_block, plan_of
from support.sshd import Sshd, sshd
from tiltyard.app.freeze import open_study
from tiltyard.cli.restore import restore
from tiltyard.errors import ExitCode, InterruptedRunError, TiltyardError, UnreachableError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.host.ledger import Ledger
from tiltyard.host.ledger import restore as restore_here
from tiltyard.host.mounts import mounts_at
from tiltyard.host.place import Place
from tiltyard.run.dry_run import dry_run
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.deputy import copy, link
from tiltyard.systems.deputy.link import Deputies, Deputy
from tiltyard.systems.deputy.messages import Request, line
from tiltyard.systems.kind import Problem, Site, System
from tiltyard.workloads import load

KEY = "vm.page_lock_unfairness"
LOOP: dict[str, Any] = {"filesystem": "ext4", "backing": {"image": "16M"}, "sysctl": {KEY: 9}}
BY_DEPUTY: dict[str, Any] = {"service": {"start": ["sleep", "600"], "ready": {"command": ["true"]}}}
"""With it, not all of its steps are ops."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """Another host, on which nothing is left."""
    folder, before, interval = tmp_path / "far", host_state(tmp_path), sysctls.read(KEY)
    with sshd(folder / "server", state=folder / "state") as server:
        yield server
        wait_until(lambda: not list(server.home.iterdir()), "the copy is removed")
        assert not list((folder / "state").glob("*"))
    assert (host_state(tmp_path), sysctls.read(KEY)) == (before, interval)


@pytest.fixture
def system(server: Sshd, tmp_path: Path) -> Iterator[System]:
    """A file system there."""
    with Ledger() as ledger, Deputies() as deputies:
        yield system_of(server, Site(tmp_path, tmp_path, ledger, deputies=deputies), **BY_DEPUTY)


def system_of(server: Sshd, site: Site, **other: object) -> System:
    there = {"host": server.far, "ssh_options": server.options}
    return kind("loop-image").system("one", {**LOOP, **there, **other}, site)


def deputy_of(system: System) -> Deputy:
    deputy: Deputy = system._deputy  # type: ignore[attr-defined]
    return deputy


def there(tmp_path: Path, words: str = "") -> Place:
    """A host behind a shell, which begins with some words."""
    (home := tmp_path / "home").mkdir()
    return Place(("sh", "-c", f'cd {home}; {words} eval "$0 $*"'))


@needs_root
def test_killed_ssh_and_killed_deputies_leave_a_host_as_before(
    system: System, server: Sshd, capsys: pytest.CaptureFixture[str]
) -> None:
    interval = sysctls.read(KEY)
    system.bring_up()
    assert sysctls.read(KEY) == "9"
    first = deputy_of(system)
    first._process.kill()
    with pytest.raises(TiltyardError, match="lost the connection"):
        system.refresh()
    system.take_down()
    up = system.bring_up()
    assert deputy_of(system) is not first
    assert len(list(server.home.iterdir())) == 1
    assert isinstance(up.target, Path)
    assert not list(up.target.iterdir())
    os.kill(deputy_of(system).hello.process.pid, signal.SIGKILL)
    with pytest.raises(TiltyardError, match="the lab there was killed by SIGKILL"):
        system.refresh()
    assert sysctls.read(KEY) == "9"
    assert restore(host=server.far, ssh_options=" ".join(server.options)) == ExitCode.DONE
    said = capsys.readouterr().out
    assert f'set /proc/sys/vm/page_lock_unfairness to "{interval}" again' in said
    assert mounts_at(up.target.parent) == []
    assert not [one for one in server.home.rglob("*") if "deputy" not in one.name]
    assert (sysctls.read(KEY), list(server.home.iterdir())) == (interval, [])


@needs_root
def test_one_that_is_killed_while_a_system_is_up_does_not_end_the_run(system: System) -> None:
    """The next turn has another one, which takes back first what this one has left."""
    system.bring_up()
    os.kill(deputy_of(system).hello.process.pid, signal.SIGKILL)
    with pytest.raises(UnreachableError, match="the lab there was killed by SIGKILL"):
        system.take_down()
    system.take_down()
    system.bring_up()
    system.take_down()


@needs_root
def test_one_that_says_nothing_while_it_works_is_given_up(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.bring_up()
    deputy = deputy_of(system)
    monkeypatch.setattr(link, "_LOST_S", 1.0)
    os.kill(deputy.hello.process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(UnreachableError, match="asked to refresh and has said nothing for"):
            system.refresh()
    finally:
        os.kill(deputy.hello.process.pid, signal.SIGCONT)
    monkeypatch.undo()
    system.take_down()
    system.bring_up()
    assert deputy_of(system) is not deputy
    system.take_down()


@needs_root
@pytest.mark.parametrize("connection", [True, False])
def test_one_that_is_lost_while_it_looks_for_problems_is_asked_again(
    system: System, *, connection: bool
) -> None:
    """By the next attempt: the host is reached, and only the deputy has gone."""
    assert errors_of(system) == []
    deputy = deputy_of(system)
    os.kill(deputy._process.pid if connection else deputy.hello.process.pid, signal.SIGKILL)
    (error,) = errors_of(system)
    assert error.passes
    assert ("lost the connection to" if connection else "was killed by SIGKILL") in error.text
    assert errors_of(system) == []


def errors_of(system: System) -> list[Problem]:
    return [problem for problem in system.problems() if problem.severity == "error"]


@needs_root
@pytest.mark.parametrize("more", [{}, BY_DEPUTY], ids=["an agent", "a deputy"])
def test_the_lab_is_killed_while_it_is_brought_up_or_is_up(
    server: Sshd, tmp_path: Path, more: dict[str, Any]
) -> None:
    """What is there puts everything back by itself; here the copy is forgotten by a restore."""
    for is_up in (False, True):
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            with Ledger() as ledger, Deputies() as deputies:
                site = Site(tmp_path, tmp_path, ledger, deputies=deputies)
                one = system_of(server, site, **more)
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
        assert restore_here().left == ()


@needs_root
@pytest.mark.parametrize("more", [{}, BY_DEPUTY], ids=["an agent", "a deputy"])
def test_an_interrupt_here_stops_it_there(
    server: Sshd, tmp_path: Path, more: dict[str, Any]
) -> None:
    looks = [2]

    def checked() -> None:
        """At the second look it is under way."""
        looks[0] += 1
        if looks[0] == 2:
            raise InterruptedRunError("Ctrl-C")

    with Ledger() as ledger, Deputies() as deputies:
        site = Site(tmp_path, tmp_path, ledger, check=checked, deputies=deputies)
        one = system_of(server, site, backing={"image": "1G"}, **more)
        one.problems()
        if more:
            looks[0] = 1
            with pytest.raises(InterruptedRunError, match="Ctrl-C"):
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
    assert up.watch is not None
    assert isinstance(up.target, Path)
    with up.watch() as watching:
        _write(up.target / "ours", 4)
        (tmp_path / "there").mkdir()
        _write(tmp_path / "there" / "theirs", 16)
        seen = watching.telemetry()
    assert seen.own_bytes is not None
    assert seen.own_bytes >= 4 * 2**20
    assert seen.foreign_bytes is not None
    assert seen.foreign_bytes >= 16 * 2**20
    with up.watch() as watching:
        assert up.lost() == ""
        deputy_of(system)._process.kill()
        up.place.host._process.kill()
        assert watching.telemetry().own_bytes is None, "nothing is known of a host that is lost"
        assert "lost the connection to" in up.lost()
        assert "what prepared one there has ended" in up.lost()
    assert watching.telemetry().host == str(up.place)


def _write(path: Path, mebibytes: int) -> None:
    with path.open("wb") as file:
        file.write(os.urandom(mebibytes * 2**20))
        os.fsync(file.fileno())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("echo Welcome;", '"Welcome" is printed where the lab there should answer. Fix: a login'),
        ("PATH={0};", "there is no python3. Fix: install python3"),
        ("export TILTYARD_STATE=/proc/none;", "cannot keep the record of changes here"),
    ],
)
def test_a_host_that_will_not_do(tmp_path: Path, words: str, says: str) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    place = there(tmp_path, words.format(tmp_path))
    with Ledger() as ledger, pytest.raises(TiltyardError, match=re.escape(says)):
        Deputy(place, "run", ledger)
    assert not list((tmp_path / "home").iterdir())


@needs_root
def test_a_host_of_a_placement_has_systems_of_any_kind(tmp_path: Path) -> None:
    with Ledger() as ledger, Deputies() as deputies:
        place = there(tmp_path)
        site = Site(tmp_path, tmp_path, ledger, place, deputies=deputies)
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


def test_another_python_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltyard.systems.deputy.copy.SORT", "Python 3.99, Linux x86_64")
    has = re.escape(f"there is Python 3.{sys.version_info[1]}, Linux ")
    with pytest.raises(TiltyardError, match=f"{has}.* Fix: install python3.99 there"):
        Deputy(there(tmp_path), "preview")


def test_what_is_copied_needs_nothing_else(tmp_path: Path) -> None:
    """Every module of the rooms, by a Python that sees nothing but the copy."""
    with tarfile.open(fileobj=io.BytesIO(copy.archive())) as packed:
        packed.extractall(tmp_path, filter="data")
    every = (
        "import sys, pkgutil, importlib; sys.path.insert(0, sys.argv[1]);"
        "import tiltyard;"
        "[importlib.import_module(m.name) for room in sys.argv[2:] for m in"
        " pkgutil.walk_packages([f'{sys.argv[1]}/tiltyard/{room}'], f'tiltyard.{room}.')]"
    )
    argv = (sys.executable, "-I", "-S", "-c", every, str(tmp_path / "lab"), *copy.ROOMS)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs_root
def test_one_that_hears_nothing_takes_everything_back(tmp_path: Path) -> None:
    """Its input stays open, as when a host loses its network without a word."""
    (home := tmp_path / "tiltyard-0a1b2c3d-deputy").mkdir()
    (tmp_path / "there").mkdir()
    before = sysctls.read(KEY)
    script = (
        "from tiltyard.systems.deputy import serve; "
        f"serve.LEASE_S = 2; serve.main({str(home)!r}, 'run')"
    )
    settings = {"directory": str(tmp_path / "there"), "sysctl": {KEY: 9}}
    given = {"kind": "directory", "settings": settings, "files": {}, "there": ""}
    requests = (
        Request(do="former"),
        Request(do="open", system="one", given=given),
        Request(do="bring_up", system="one"),
    )
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, "-c", script), stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(map(line, requests)))
        process.stdin.flush()
        said = [process.stdout.readline() for _ in requests]
        assert b'"failed"' not in b"".join(said)
        assert sysctls.read(KEY) == "9"
        assert process.wait(PATIENCE_S) == 0
        assert process.stdin.closed is False
    assert sysctls.read(KEY) == before
    assert not home.exists()
