"""Another user attacks each path of a study, while root carries it out from plan to report."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import PATIENCE_S
from support.unprivileged import NOBODY

STUDY = """
question = "Which?"
[factors]
system = { memory = { kind = "tmpfs", size = "64M" }, image = { kind = "loop-image", \
filesystem = "ext4", backing = { image = "32M" } } }
[[workload]]
use = "iozone"
file = "128k"
record = "32k"
tests = ["write"]
[precision]
blocks = 6
[noise]
disturbed = "keep"
"""
ATTACK = r"""
import collections, json, os, random, select, sys
root, victim = sys.argv[1:]
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
draw = random.Random(4711)
tried, done = collections.Counter(), set()

def attack(name, path, deed):
    tried[name] += 1
    try:
        deed()
    except OSError:
        return
    done.add((name, path))

def of_place(path):
    other = f"{path}.{draw.randrange(10**9)}"
    return {
        "write": lambda: os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW)),
        "truncate": lambda: os.truncate(path, 0),
        "remove": lambda: (os.rmdir if os.path.isdir(path) else os.unlink)(path),
        "exchange": lambda: os.rename(path, other),
        "mode": lambda: os.chmod(path, 0o777),
        "other name": lambda: os.link(path, other),
        "times": lambda: os.utime(path),
    }

def in_directory(path):
    name = draw.choice(["journal.jsonl", "report", ".findings.json.0.partial", "x"])
    aim = os.path.join(path, f"{name}.{draw.randrange(10**6)}")
    return {
        "file": lambda: os.close(os.open(aim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)),
        "link": lambda: os.symlink(victim, aim),
        "directory": lambda: os.mkdir(aim),
        "pipe": lambda: os.mkfifo(aim),
    }

paths = set()
print("ready", flush=True)
last = False
while not last:
    last = bool(select.select([sys.stdin], [], [], 0.005)[0])
    for place, directories, files in os.walk(root):
        for deeds, path in [
            (in_directory, place), (of_place, place),
            *((of_place, os.path.join(place, name)) for name in (*files, *directories)),
        ]:
            paths.add(os.path.relpath(path, root))
            for name, deed in deeds(path).items():
                attack(name, os.path.relpath(path, root), deed)
print(json.dumps([tried, sorted(done), sorted(paths)]))
"""


@contextmanager
def attacked(root: Path, victim: Path) -> Iterator[list[object]]:
    """While it lasts; afterwards the list has what was tried, what was done, and which paths."""
    found: list[object] = []
    argv = (sys.executable, "-c", ATTACK, str(root), str(victim))
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as attacker:
        assert attacker.stdin is not None
        assert attacker.stdout is not None
        try:
            assert attacker.stdout.readline() == "ready\n"
            yield found
        except BaseException:
            attacker.kill()
            raise
        said, _ = attacker.communicate("enough\n", timeout=PATIENCE_S)
        found.extend(json.loads(said))


def run(study: Path) -> subprocess.CompletedProcess[str]:
    """``tiltyard run`` to its end, report and all."""
    argv = (sys.executable, "-m", "tiltyard", "run", str(study), "--trust")
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=study.parent
    )


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Path]:
    """A study in a directory that everybody may look into."""
    opened = [one for one in (tmp_path, *tmp_path.parents[:-2]) if not one.stat().st_mode & 0o005]
    modes = [one.stat().st_mode for one in opened]
    for one in opened:
        one.chmod(0o755)
    root = tmp_path / "above" / "study"
    root.mkdir(parents=True)
    (root / "study.toml").write_text(STUDY)
    yield root
    for one, mode in zip(opened, modes, strict=True):
        one.chmod(mode)


@needs_root
def test_who_attacks_every_path_of_a_run_changes_none(
    tmp_path: Path, state: Path, study: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    state.chmod(0o755)
    with attacked(study, victim) as found:
        done = run(study)
    assert done.returncode == 0, done.stderr
    tried, changed, paths = found
    assert changed == []
    assert isinstance(tried, dict)
    assert isinstance(paths, list)
    assert len(tried) == 11
    assert min(tried.values()) > 100
    for name in ("journal.jsonl", "trials", "plan.json", "findings.json", "report/index.html"):
        assert name in paths
    assert "work" in paths
    assert not any(path.startswith("work/") for path in paths), "what is mounted there is ours"
    assert victim.read_text() == "precious"
    for place in itertools.chain([study], study.rglob("*")):
        assert (place.stat().st_uid, place.is_symlink()) == (0, False), place


@needs_root
@pytest.mark.usefixtures("state")
def test_a_study_below_a_directory_of_the_attacker_is_not_run(study: Path) -> None:
    os.chown(study.parent, NOBODY, NOBODY)
    done = run(study)
    assert done.returncode == 4, done.stderr
    assert f"{study.parent} belongs to user nobody" in done.stderr
    assert [one.name for one in study.iterdir()] == ["study.toml"]
