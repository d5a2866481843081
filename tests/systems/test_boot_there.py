"""Boots of another host, but for the boot itself: ``tests/second_host`` has that."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from tiltyard.errors import BusyError, HostLacksError, TiltyardError
from tiltyard.host import sysctls
from tiltyard.host.ledger import Ledger, recover, restore
from tiltyard.host.place import HERE
from tiltyard.host.processes import Process, boot_id, on_terminals
from tiltyard.systems.deputy import boot, serve
from tiltyard.systems.deputy.boot import await_boot, require_bootable
from tiltyard.systems.deputy.messages import Answer, Request, line

KEY = "vm.compaction_proactiveness"
DEPUTY = (
    "from tiltyard.systems.deputy import serve; serve.require_bootable = lambda *_: None; "
    "import sys; serve.main(sys.argv[1], 'run')"
)
"""On this host others may be at work."""


@contextmanager
def logged_in() -> Iterator[str]:
    """Somebody at a terminal; its name."""
    screen, end = os.openpty()
    with subprocess.Popen(("setsid", "--ctty", "--wait", "sleep", "600"), stdin=end) as process:
        try:
            name = os.ttyname(end).removeprefix("/dev/")
            wait_until(lambda: name in on_terminals(), "it has no terminal")
            yield name
        finally:
            process.kill()
            os.close(end)
            os.close(screen)


@needs_root
def test_a_host_is_not_booted_while_others_are_logged_in() -> None:
    with logged_in() as terminal:
        someone = re.escape(f"root on {terminal} (")
        with pytest.raises(BusyError, match=f"while others are logged in: .*{someone}"):
            require_bootable(("true",), None)


@needs_root
def test_a_host_is_not_booted_while_others_measure_there(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "on_terminals", dict)
    monkeypatch.setattr(boot, "named", lambda _: ())
    with Ledger() as own:
        require_bootable(("true",), own.path)
        with pytest.raises(BusyError, match=f"others measure there: process {os.getpid()}"):
            require_bootable(("true",), None)
    assert not [*state.iterdir()]
    engine = tmp_path / "tiltyard-engine"
    engine.symlink_to("/bin/sleep")
    monkeypatch.undo()
    monkeypatch.setattr(boot, "on_terminals", dict)
    # What a shell leaves behind is none of ours: what we have started ourselves keeps nobody.
    start = ("sh", "-c", '"$0" 600 >/dev/null 2>&1 & echo $!', engine)
    pid = int(subprocess.run(start, capture_output=True, text=True, check=True).stdout)
    try:
        # The shell goes a moment before what it started has its name.
        name = Path(f"/proc/{pid}/comm")
        wait_until(lambda: name.read_text() == "tiltyard-engine\n", "its name")
        with pytest.raises(BusyError, match=f"tiltyard-engine, process .*{pid}"):
            require_bootable(("true",), None)
    finally:
        os.kill(pid, signal.SIGKILL)


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
def test_a_host_that_could_not_be_booted(
    command: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "systemctl":
        monkeypatch.setattr(boot, "has_systemd", lambda: False)
        monkeypatch.setattr(boot, "find_program", lambda _: "/bin/systemctl")
    with pytest.raises(HostLacksError, match=re.escape(says)):
        require_bootable((command,), None)


def test_a_host_that_does_not_come_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "LIMIT_S", 0.2)
    says = "this host was told to boot and is not back after 0.2 s: it has not begun to"
    with pytest.raises(TiltyardError, match=says):
        await_boot(HERE, boot_id(), tmp_path, lambda: None)


def test_a_host_that_has_come_back(tmp_path: Path) -> None:
    (tmp_path / "restore").write_text("exec")
    up_s, is_kept = await_boot(HERE, "the boot before", tmp_path, lambda: None)
    assert 0 < up_s <= float(Path("/proc/uptime").read_text().split()[0])
    assert is_kept
    assert not await_boot(HERE, "the boot before", tmp_path / "gone", lambda: None)[1]


def deputy(home: Path, *requests: Request) -> list[Answer]:
    """What one says that is asked so, one after the other, until it ends."""
    argv, said = (sys.executable, "-c", DEPUTY, str(home)), []
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for request in (Request(do="former"), *requests):
            process.stdin.write(line(request))
            process.stdin.flush()
            said.append(process.stdout.readline())
        said += process.stdout.readlines()
    return [Answer.model_validate_json(each) for each in said if each]


def image_there(home: Path) -> Request:
    settings = {
        "filesystem": "ext4",
        "backing": {"image": "16M"},
        "reset": "reboot",
        "sysctl": {KEY: 9},
    }
    given = {"kind": "loop-image", "settings": settings, "files": {}, "there": ""}
    return Request(do="open", system="one", given=given)


@needs_root
def test_what_a_boot_keeps_is_gone_on_with_or_given_up(tmp_path: Path, state: Path) -> None:
    """The host does not boot here; all else is as it would be."""
    (home := tmp_path / "tiltyard-0a1b2c3d-deputy").mkdir()
    before = sysctls.read(KEY)
    up, down = Request(do="bring_up", system="one"), Request(do="take_down", system="one")
    boots = Request(do="boot", given={"command": ["true"]})
    opened = image_there(home)
    inodes = []
    for _ in range(2):
        said = deputy(home, opened, up, down, boots)
        assert [one.failed for one in said] == [None] * 5
        (image,) = (home / "work").glob("*.img")
        inodes.append(image.stat().st_ino)
        assert sysctls.read(KEY) == before
        assert recover() == []
        assert serve._remove_copies(tmp_path, but=tmp_path) == []
        assert home.exists()
    assert len(set(inodes)) == 1
    assert f"removed {image}" in " ".join(restore().done)
    assert serve._remove_copies(tmp_path, but=tmp_path, kept=True) == [f"removed {home}"]
    assert not [*state.iterdir()]


def test_the_copy_of_a_deputy_of_another_host_stays(tmp_path: Path) -> None:
    """Users of a cluster have one home on all hosts."""
    (home := tmp_path / "tiltyard-0a1b2c3d-deputy").mkdir()
    there = Process.current().model_copy(update={"boot": "another", "host": "n2 0123"})
    (home / "process.json").write_text(there.model_dump_json())
    assert serve._remove_copies(tmp_path, but=tmp_path) == []
    assert home.exists()
    died = there.model_copy(update={"host": Process.current().host})
    (home / "process.json").write_text(died.model_dump_json())
    assert serve._remove_copies(tmp_path, but=tmp_path) == [f"removed {home}"]


@needs_root
def test_a_boot_that_is_refused_there_leaves_nothing(tmp_path: Path, state: Path) -> None:
    (home := tmp_path / "tiltyard-0a1b2c3d-deputy").mkdir()
    up, down = Request(do="bring_up", system="one"), Request(do="take_down", system="one")
    boots = Request(do="boot", given={"command": ["sh", "-c", "echo denied >&2; exit 1"]})
    *said, last = deputy(home, image_there(home), up, down, boots)
    assert [one.failed for one in said] == [None] * 5
    assert last.failed
    assert last.failed.text.endswith(": denied")
    assert not home.exists()
    assert not [*state.iterdir()]
