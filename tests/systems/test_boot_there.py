"""Boots of another host, but for the boot itself: ``tests/second_host`` has that."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.looks import read_small
from support.patience import wait_until
from support.sshd import Sshd, sshd
from tiltyard.errors import BusyError, HostLacksError, TiltyardError, UnreachableError
from tiltyard.host import sysctls
from tiltyard.host.host import Host, here, hosts
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import HERE
from tiltyard.host.steps import Steps
from tiltyard.systems import booting, kind
from tiltyard.systems.booting import await_boot, boot_problems
from tiltyard.systems.kind import Site, System

KEY = "vm.compaction_proactiveness"


@contextmanager
def logged_in() -> Iterator[str]:
    """Somebody at a terminal; its name."""
    screen, end = os.openpty()
    with subprocess.Popen(("setsid", "--ctty", "--wait", "sleep", "600"), stdin=end) as process:
        try:
            yield os.ttyname(end).removeprefix("/dev/")
        finally:
            process.kill()
            os.close(end)
            os.close(screen)


def why_not() -> str:
    """Why this host is not booted while others are at work; empty if nobody is."""
    try:
        here().may_leave(("true",))
    except BusyError as error:
        return str(error)
    return ""


@needs_root
def test_a_host_is_not_booted_while_others_are_logged_in() -> None:
    with logged_in() as terminal:
        someone = re.compile(f"while others are logged in: .*root on {terminal} \\((sleep|setsid)")
        wait_until(lambda: someone.search(why_not()) is not None, "it has no terminal")


@needs_root
def test_a_host_is_not_booted_while_others_measure_there(tmp_path: Path) -> None:
    engine = tmp_path / "tiltyard-engine"
    shutil.copy("/bin/sleep", engine)
    engine.chmod(0o755)
    of_another = Host.here()
    of_another.change([MakeDirectory(path=tmp_path / "tiltyard-made").op(str)])
    with closing(of_another), subprocess.Popen((engine, "600")) as other:
        try:
            exe = Path(f"/proc/{other.pid}/exe")
            wait_until(lambda: exe.readlink() == engine, "it is not executed")
            engine.unlink()
            (problem,) = boot_problems(HERE, ("true",))
        finally:
            other.kill()
    # Somebody may be logged in here, which is told first.
    if "logged in" not in problem.text:
        assert f"others measure there: process {of_another.pid}" in problem.text
        assert f"tiltyard-engine, process {other.pid}" in problem.text
        assert f"process {here().pid}" not in problem.text
    assert problem.passes


@needs_root
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            "no-such-program",
            'there is no program "no-such-program" to boot it. Fix: reboot_command',
        ),
        ("systemctl", "systemctl boots no host without systemd as process 1. Fix: reboot_command"),
    ],
)
def test_a_host_that_could_not_be_booted(command: str, says: str) -> None:
    if command == "systemctl" and (Path("/run/systemd/system").exists() or not HERE.has(command)):
        pytest.skip("this host has systemd, or nothing of it")
    with pytest.raises(HostLacksError, match=re.escape(says)):
        here().may_leave((command,))


def test_a_host_that_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booting, "LIMIT_S", 0.2)
    says = "this host was told to boot and is not back after 0.2 s: it has not begun to"
    with pytest.raises(UnreachableError, match=says):
        await_boot(HERE, here().boot, lambda: None)


def test_a_host_that_has_come_back() -> None:
    up_s = await_boot(HERE, "the boot before", lambda: None)
    assert 0 < up_s <= float(Path("/proc/uptime").read_text().split()[0])


def system_there(
    server: Sshd, ledger: Ledger, folder: Path, command: list[str], **other: object
) -> System:
    """An ext4 on an image, whose host is booted before each turn."""
    settings = {
        "host": server.far,
        "ssh_options": server.options,
        "filesystem": "ext4",
        "backing": {"image": "16M"},
        "reset": "reboot",
        "reboot_command": command,
        **other,
    }
    return kind("loop-image").system("one", settings, Site(folder, folder, ledger))


@pytest.fixture
def server(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """This host, which only says that it boots: nobody asks who else is at work."""
    leave = Host.leave

    def left(
        host: Host, command: list[str], study: str, keep: list[int], *, alone: bool = False
    ) -> None:
        assert alone
        leave(host, command, study, keep)
        hosts.close(here=False)

    monkeypatch.setattr(Host, "leave", left)
    with sshd(tmp_path / "server", state) as server:
        yield server


def ops(state: Path) -> list[str]:
    """The ledgers of agents, each with what it says."""
    return [read_small(path) or "" for path in state.glob("*.ops")]


@needs_root
def test_what_a_boot_keeps_is_gone_on_with(
    tmp_path: Path, server: Sshd, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(booting, "_has_started", lambda *_: True)
    before, inodes = sysctls.read(KEY), []
    with Ledger() as ledger:
        system = system_there(server, ledger, tmp_path, ["true"], sysctl={KEY: 9})
        for turn in range(3):
            said = system.boot()["host booted before the turn"]
            assert said.startswith("yes; up for ")
            assert len(ops(state)) == min(turn, 1)
            assert recover() == []
            system.bring_up()
            (image,) = server.home.glob("*.img")
            inodes.append(image.stat().st_ino)
            assert sysctls.read(KEY) == "9"
            system.take_down()
            assert sysctls.read(KEY) == before
    assert len(set(inodes)) == 1
    assert not [*server.home.iterdir()]
    assert not [*state.iterdir()]


@needs_root
@pytest.mark.parametrize("is_taken_up", [False, True])
def test_a_run_that_is_killed_while_a_host_boots_leaves_nothing(
    tmp_path: Path, server: Sshd, state: Path, is_taken_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept for it goes when the study goes on."""
    ledger = Ledger()
    system = system_there(server, ledger, tmp_path, ["true"])
    system.bring_up()
    system.take_down()
    (image,) = server.home.glob("*.img")
    ledger.leave(place := system.place, ("true",))
    if is_taken_up:
        ledger.come_back(place)
        hosts.close(here=False)
    assert image.exists() is not is_taken_up
    with Ledger() as again:
        said = list[str]()
        Steps(again, note=said.append, place=place).begin()
        assert not [line for line in said if str(image) in line]
        hosts.close(here=False)
        again.earlier = ledger.token
        Steps(again, note=said.append, place=place).begin()
        assert [line for line in said if str(image) in line] or is_taken_up
    assert not image.exists()
    assert not [*server.home.iterdir()]
    assert not [*state.iterdir()]


@needs_root
def test_restore_there_gives_up_what_is_kept(tmp_path: Path, server: Sshd, state: Path) -> None:
    ledger = Ledger()
    system = system_there(server, ledger, tmp_path, ["true"])
    system.bring_up()
    system.take_down()
    ledger.leave(place := system.place, ("true",))
    (image,) = server.home.glob("*.img")
    assert place.ask(lambda host: host.recover()).done == []
    (said,) = place.ask(lambda host: host.recover(kept=True)).done
    assert said == f"removed {image}"
    # What the run kept is gone: it begins with another one.
    ledger.come_back(place)
    system.bring_up()
    system.take_down()
    ledger.close()
    assert not [*state.iterdir()]


@needs_root
def test_a_boot_that_is_refused_there_keeps_nothing(
    tmp_path: Path, server: Sshd, state: Path
) -> None:
    with Ledger() as ledger:
        system = system_there(server, ledger, tmp_path, ["sh", "-c", "echo denied >&2; exit 1"])
        system.bring_up()
        system.take_down()
        (image,) = server.home.glob("*.img")
        with pytest.raises(TiltyardError, match=r": denied$"):
            system.boot()
        assert image.exists(), "as before"
        hosts.close(here=False)
        assert not image.exists(), "it was kept for nobody"
    assert not [*server.home.iterdir()]
    assert not [*state.iterdir()]
