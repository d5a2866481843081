"""``tiltyard tuning``, as a person meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root, nothing_is_left, state
from support.patience import PATIENCE_S
from tiltyard.host import sysctls

__all__ = ["nothing_is_left", "state"]

KEY = "vm.dirtytime_expire_seconds"
PROFILE = f'about = "a harmless one"\n[sysctl]\n{KEY} = 7\nvm.no_such_thing = 1\n'


def tiltyard(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-c", "from tiltyard.cli import main; main()", "tuning", *words)
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "COLUMNS": "160"},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(PROFILE)
    return tmp_path


def test_the_list(folder: Path) -> None:
    done = tiltyard(cwd=folder)
    assert done.returncode == 0
    assert "enterprise-storage" in done.stdout
    assert "tuned 0.2.19, enterprise-storage" in done.stdout


def test_the_difference_to_this_host_changes_nothing(folder: Path) -> None:
    before = sysctls.read(KEY)
    done = tiltyard("show", "mine.toml", cwd=folder)
    assert done.returncode == 0
    rows = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    assert [KEY, before, "7", "would be set"] in [
        [*row[:3], row[-1].strip()] for row in rows if row
    ]
    assert "this kernel has no vm.no_such_thing" in done.stdout
    assert "1 would be set, 0 are so, 1 skipped" in done.stdout
    assert tiltyard("show", "mine.toml", "--strict", cwd=folder).returncode == 3
    assert sysctls.read(KEY) == before


@needs_root
def test_one_is_held_for_a_command(folder: Path) -> None:
    before = sysctls.read(KEY)
    done = tiltyard("hold", "mine.toml", "--", "sh", "-c", f"sysctl -n {KEY}; exit 5", cwd=folder)
    assert (done.returncode, done.stdout) == (5, "7\n")
    assert f"tuning {KEY}: 7 (was {before})" in done.stderr
    assert sysctls.read(KEY) == before
    done = tiltyard("hold", "mine.toml", "--", "sh", "-c", "kill -9 $$", cwd=folder)
    assert done.returncode == 128 + 9
    assert sysctls.read(KEY) == before


@needs_root
def test_strict_a_command_does_not_run_half_tuned(folder: Path) -> None:
    done = tiltyard("hold", "mine.toml", "--strict", "--", "touch", "ran", cwd=folder)
    assert done.returncode == 3
    assert "vm.no_such_thing cannot be set" in done.stderr
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("show",), "name a profile"),
        (("show", "out-of-bx"), 'Did you mean "out-of-box"'),
        (("hold", "out-of-box"), "which command?"),
        (("hold", "out-of-box", "--", "no-such-program"), 'no program "no-such-program"'),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(
    folder: Path, words: tuple[str, ...], expected: str
) -> None:
    done = tiltyard(*words, cwd=folder)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
