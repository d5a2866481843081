"""A program of another user never borrows root's rights: not by a link, an exchange, or a pipe.

Root measures a program of user nobody in a directory that is nobody's; what is root's lies beside
it, behind a directory that only root may enter.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from support.hosts import needs_root, open_directory
from support.patience import LATEST_S, PATIENCE_S
from support.runs import Watcher, go_on
from support.said import said_in
from support.unprivileged import NOBODY
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine, Job
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import write_plan
from tiltyard.run import stages
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

PYTHON = "/usr/bin/python3"
SECRET = "5ecret-of-root"
STUDY = """\
question = "q"
[factors]
number = [1, 2]
[systems]
kind = "directory"
directory = "{theirs}"
[[workload]]
use = "program"
user = "nobody"
command = ["{python}", "{program}", "{{number}}"]
executions = 2
{keys}
"""
RACE = """
import ctypes, os, sys
os.symlink(sys.argv[1], "link")
exchange = ctypes.CDLL(None).renameat2
while True:
    exchange(-100, b"link", -100, b"tiltyard-compare", 2)
"""

pytestmark = [
    needs_root,
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 of the system"),
]


@dataclass(frozen=True)
class Ground:
    """What is root's, and what is nobody's."""

    root: Path

    @property
    def victim(self) -> Path:
        return self.root / "victim"

    @property
    def theirs(self) -> Path:
        return self.root / "theirs"

    @property
    def program(self) -> Path:
        return self.root / "program.py"

    def text(self, text: str) -> str:
        """With the places of both in it."""
        return text.replace("VICTIM", str(self.victim)).replace("THEIRS", str(self.theirs))

    def of_root(self) -> dict[str, tuple[int, int, bytes]]:
        """All that is root's: mode, owner, contents."""
        found = {}
        for path in self.victim.rglob("*"):
            seen = path.lstat()
            text = b"" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(self.victim))] = (seen.st_mode, seen.st_uid, text)
        return found


@pytest.fixture
def ground(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """Where nobody can go, but for what is root's; in the environment there is a secret, too."""
    root = Path(tempfile.mkdtemp(prefix="rights-"))
    root.chmod(0o755)
    made = Ground(root)
    for place in (made.victim, made.victim / "program"):
        place.mkdir(mode=0o700)
        for name in ("result.txt", "out", "in"):
            (place / name).write_text(f"{SECRET} tps = 7\n")
            (place / name).chmod(0o600)
    for place in (made.theirs, made.theirs / "w"):
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
    monkeypatch.setenv("CI_TOKEN", SECRET)
    yield made
    shutil.rmtree(root)
    shutil.rmtree(state / "trusted", ignore_errors=True)


ATTACKS = {
    "standard output in a directory that becomes a link": (
        'setup = ["ln", "-sfn", "VICTIM", "{dir}/sub"]\nstdout = "{dir}/sub/new"',
        "print(1)",
        "write to {dir}/sub/new: sub is a link that user 65534 has made",
    ),
    "standard output that is a file of root's": (
        'setup = ["ln", "-sfn", "VICTIM", "{dir}/sub"]\nstdout = "{dir}/sub/out"',
        "print(1)",
        "sub is a link that user 65534 has made",
    ),
    "standard output by its whole path": (
        'stdout = "VICTIM/new"',
        "print(1)",
        "write to VICTIM/new: Permission denied",
    ),
    "the directory above, exchanged": (
        'stdout = "{dir}/out"\nfiles = ["result.txt"]',
        "open('result.txt', 'w').close()\nprint(1, flush=True)\n"
        "if not os.path.islink(os.path.dirname(os.environ['TMPDIR'])):\n"
        " above = os.path.dirname(os.getcwd())\n"
        " os.rename(above, above + '-mine')\n os.symlink('VICTIM', above)",
        "may not go to the working directory {dir}|did not come up|Permission denied: ",
    ),
    "a file below a link to root's": (
        'files = ["sub/result.txt"]',
        "if not os.path.islink('sub'): os.symlink('VICTIM', 'sub')",
        "no file {dir}/sub/result.txt: sub is a link that user 65534 has made",
    ),
    "a metric below a link to root's": (
        'files = ["sub/result.txt"]\nmetrics = { tps = { regex = "tps = ([0-9]+)", '
        'of = "sub/result.txt", unit = "1/s", better = "higher" } }',
        "if not os.path.islink('sub'): os.symlink('VICTIM', 'sub')",
        "sub is a link that user 65534 has made",
    ),
    "a file below a link to the engine": (
        'files = ["sub/environ"]',
        "if not os.path.islink('sub'): os.symlink('/proc/self', 'sub')",
        "no file {dir}/sub/environ: sub is a link",
    ),
    "a file of the host's": (
        'files = ["sub/shadow"]',
        "if not os.path.islink('sub'): os.symlink('/etc', 'sub')",
        "no file {dir}/sub/shadow: sub is a link",
    ),
    "standard input that becomes a link": (
        'inputs = { in = "" }\nsetup = ["ln", "-sf", "VICTIM/in", "{dir}/in"]\nstdin = "{dir}/in"',
        "print(sys.stdin.read())",
        "read {dir}/in: in is a link that user 65534 has made",
    ),
    "standard input of the engine": (
        'stdin = "/proc/self/environ"',
        "print(sys.stdin.read())",
        "read /proc/self/environ: Permission denied",
    ),
    "standard output that becomes a pipe": (
        'setup = ["mkfifo", "{dir}/out"]\nstdout = "{dir}/out"\ntimeout = 5',
        "print(1)",
        "write to {dir}/out: it is not a regular file",
    ),
    "the working directory, exchanged": (
        'where = "THEIRS/w"\nfiles = ["result.txt"]',
        "if not os.path.islink('../w'): os.rename('../w', '../v'); os.symlink('VICTIM', '../w')",
        "no file THEIRS/w/result.txt: w is a link|go to the working directory THEIRS/w",
    ),
}


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where that user comes to: those of pytest let nobody in."""
    with open_directory() as path:
        yield path


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_roots_is_neither_written_nor_read_nor_removed(
    attack: str, ground: Ground, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each trial fails, and the run goes on to its end."""
    monkeypatch.setattr(stages, "_ASIDE_S", LATEST_S)
    keys, program, says = map(ground.text, ATTACKS[attack])
    ground.program.write_text(f"import os, sys\n{program}\n")
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    places = {"theirs": ground.theirs, "program": ground.program, "python": PYTHON}
    folder.study.write_text(STUDY.format(**places, keys=keys))
    before = ground.of_root()
    plan = planned(folder, engine, trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    trials = read_run(folder, plan).trials
    assert len(trials) == 2
    assert ground.of_root() == before
    kept = (said_in(path) for path in folder.root.rglob("*") if path.is_file())
    assert not any(SECRET.encode() in text or b"root:" in text for text in kept)
    for trial in trials:
        assert re.search(says.replace("{dir}", "[^ ]*/program"), trial.reason or ""), trial.reason


@pytest.mark.parametrize("key", ["stdout", "stdin"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    ground: Ground, engine: Engine, key: str
) -> None:
    """Neither before the first execution, nor after one has put it there."""
    replaces = ["sh", "-c", "rm -f pipe; mkfifo pipe"]
    for parameters in (
        {"setup": replaces, "command": ["true"]},
        {"command": replaces, "executions": 2},
    ):
        shared = {"inputs": {"pipe": ""}, key: "{dir}/pipe", "timeout": 5.0}
        said = trial(engine, ground, {**parameters, **shared})
        assert "pipe: it is not a regular file" in said, said


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ({"flood": "1M"}, 'it is larger than 1048576 B. Fix: raise "flood"'),
        ({"flood": "1T", "timeout": 1.0}, "it was not read after 1 s. Fix: let it be shorter, or"),
    ],
)
def test_a_file_without_an_end_is_read_as_far_and_as_long_as_is_allowed(
    ground: Ground, engine: Engine, bound: Mapping[str, JsonValue], says: str
) -> None:
    """It takes no space, and is as large as the file system lets files be."""
    said = trial(
        engine, ground, {"command": ["truncate", "-s", "8T", "out"], "files": ["out"], **bound}
    )
    assert says.replace('"', '\\"') in said, said


def test_a_directory_that_became_a_link_is_not_worked_in(ground: Ground, engine: Engine) -> None:
    """One of root's own is."""
    link = ground.root / "link"
    link.symlink_to(ground.theirs)
    assert '"outcome":"done"' in trial(engine, ground, {"command": ["true"]}, link)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    said = trial(engine, ground, {"command": ["true"]}, link)
    assert f"cannot use {link}: link is a link that user {NOBODY} has made" in said


def test_workloads_of_the_engine_are_not_measured_where_another_user_could_exchange_their_directory(
    ground: Ground, engine: Engine, tmp_path: Path
) -> None:
    """He needs not have done it."""
    own, small = ground.theirs / "of-root", {"files": 5, "transactions": 5}
    own.mkdir(mode=0o700)
    said = [
        said_of(engine, ground, Job(workload="postmark", parameters=small, target=place))
        for place in (own, tmp_path)
    ]
    own.rmdir()
    assert f"{own}: not used as root: {ground.theirs} belongs to user {NOBODY}" in said[0]
    assert '"outcome":"done"' in said[1]


def test_an_exchange_while_outputs_are_compared_makes_nothing_of_roots(
    ground: Ground, engine: Engine
) -> None:
    before = ground.of_root()
    (ground.root / "race.py").write_text(RACE)
    for _ in range(20):
        trial(
            engine,
            ground,
            {
                "command": ["echo", "{execution}"],
                "executions": 100,
                "expect": {"compare": ["true"]},
                "servers": [
                    {
                        "command": [PYTHON, f"{ground.root}/race.py", str(ground.victim)],
                        "ready": {"path": "link"},
                        "stop": "SIGKILL",
                    }
                ],
            },
        )
        assert ground.of_root() == before


def trial(
    engine: Engine,
    ground: Ground,
    parameters: Mapping[str, JsonValue],
    directory: Path | None = None,
) -> str:
    """One of the engine, as nobody in nobody's directory; what it said, when it has ended."""
    told = {"user": "nobody", **parameters}
    return said_of(
        engine, ground, Job(workload="program", parameters=told, target=directory or ground.theirs)
    )


def said_of(engine: Engine, ground: Ground, job: Job) -> str:
    done = subprocess.run(
        (engine.path, "run"),
        input=job.message(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert {path.name for path in ground.theirs.iterdir()} <= {"w", "of-root"}
    return done.stdout.decode()
