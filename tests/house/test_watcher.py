"""A file of tests that leaves the machine changed fails, and what it has left is named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import watcher
from support.hosts import needs_root

pytestmark = needs_root

CHANGES = {
    'Path("/proc/sys/net/core/somaxconn").write_text("1234")': "parameters: /proc/sys/net/core/",
    'subprocess.run(("mount", "-t", "tmpfs", "none", "/mnt"), check=True)': "mounts: /mnt ",
    'subprocess.run("ip route add unreachable 192.0.2.0/24".split(), check=True)': "routes: ",
    'subprocess.run("tc qdisc add dev lo root pfifo".split(), check=True)': "qdiscs: ",
    'Path(tempfile.gettempdir(), "tiltyard-x").touch()': "left: ",
    'os.sched_setaffinity(int(os.environ["SLEEPS"]), {0})': "affinity: ",
    'Path("/run/netns/near").touch()': "namespaces: near: ",
    'Path("/run/tiltyard.lock").touch()': "left: /run/tiltyard.lock: ",
    "assert True": "",
}
TEST = """
import os, subprocess, tempfile
from pathlib import Path

def test_it():
    {change}

def test_another_one():
    pass
"""
ALONE = 'mount -t tmpfs none /run && mkdir -p /run/netns && ip link set lo up && exec "$@"'
"""Mounts, network and what lies in /run are the test's own."""


def test_what_goes_while_it_is_looked_at_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control group of another test is gone when what is in it is asked for."""
    (gone := tmp_path / "tiltyard-1").mkdir()
    (tmp_path / "tiltyard-2").mkdir()
    looks = os.scandir

    def ends(path: Path | str) -> Any:
        if Path(path) == gone and gone.is_dir():
            gone.rmdir()
        return looks(path)

    monkeypatch.setattr(watcher, "_GROUPS", tmp_path)
    monkeypatch.setattr(os, "scandir", ends)
    assert str(tmp_path / "tiltyard-2") in watcher.look()["left"]
    assert not gone.exists()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="of one CPU none can be taken")
@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_a_file_leaves_changed_fails_and_is_named(tmp_path: Path, processes: str) -> None:
    for number, change in enumerate(CHANGES):
        (tmp_path / f"test_{number}.py").write_text(TEST.format(change=change))
    (tmp_path / "conftest.py").write_text("from support import watcher; watcher._LOOKS = 2")
    (temporary := tmp_path / "tmp").mkdir()
    with subprocess.Popen(("sleep", "600")) as sleeps:
        argv = (*("unshare", "--net", "--mount", "sh", "-c", ALONE, "sh", sys.executable, "-m"),
                *("pytest", "-p", "support.watcher", "-p", "no:cacheprovider", "-n", processes),
                *("--dist", "loadfile", str(tmp_path)))  # fmt: skip
        environment = {
            **os.environ, "PYTHONPATH": ":".join(filter(None, sys.path)),
            "TMPDIR": str(temporary), "SLEEPS": str(sleeps.pid),
        }  # fmt: skip
        done = subprocess.run(
            argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        sleeps.kill()
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    told = {line for line in done.stdout.splitlines() if "left the machine changed: " in line}
    for number, what in enumerate(CHANGES.values()):
        named = [line for line in told if what in line]
        # Beside others a file may see what another one has just done.
        named = [line for line in named if processes == "2" or f"test_{number}.py" in line]
        assert named or not what, f"{what}: {done.stdout}"
    innocent = f"test_{len(CHANGES) - 1}.py"
    assert processes == "2" or not [line for line in told if innocent in line]


def test_what_goes_away_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "tiltyard-1").mkdir(parents=True)
    scandir, gone = os.scandir, []

    def once_gone(path: str) -> object:
        if not gone and Path(path).parent == tmp_path:
            gone.append(path)
            shutil.rmtree(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", once_gone)
    monkeypatch.setattr(watcher, "_GROUPS", tmp_path)
    (left,) = (Path(path) for path in watcher.look()["left"] if Path(path).is_relative_to(tmp_path))
    assert gone
    assert left.name == "tiltyard-1"
