"""Whatever a program has left where it worked: it goes, or is one line; all else is put back."""

import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from support.hosts import needs_root
from support.kills import left_by_a_killed_agent
from tiltyard.app.clean import leftovers, remove, remove_tree
from tiltyard.cli.restore import restore as restore_verb
from tiltyard.errors import ExitCode, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.host.changes import PREFIX
from tiltyard.host.host import hosts
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.op import MakeDirectory, PutText
from tiltyard.host.steps import Steps

NAMES = (b"\xff\xfe", b"new\nline", b"\x1b[31m", b" ", b"-r", b"*", b"x" * 255, b".removed-1")
LARGEST = 1 << 50
"""Bytes of a file that has none; file systems that know no such size have less."""


def dug(directory: Path, levels: int, name: bytes = b"d") -> None:
    """Directories one in the other, deeper than a path can say."""
    at = os.open(directory, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("end", os.O_CREAT, dir_fd=at))
    os.close(at)


def disturbed(random: Random, directory: Path) -> None:
    """What a program of bad faith might make."""
    at = directory
    for number in range(random.randint(1, 12)):
        name = random.choice((*NAMES, b"d%d" % number))
        path = Path(os.fsdecode(os.fsencode(at) + b"/" + name))
        if os.path.lexists(path):
            continue
        sort = random.randrange(8)
        if sort < 3:
            path.mkdir(mode=random.choice((0o700, 0o000, 0o500)))
            at = random.choice((path, at))
        elif sort == 3:
            os.mkfifo(path)
        elif sort == 4:
            os.mknod(path, stat.S_IFSOCK)
        elif sort == 5:
            path.symlink_to(random.choice(("/etc", "..", "none", directory)))
        elif sort == 6:
            sparse(path)
        else:
            path.mkdir()
            dug(path, random.choice((20, 300, 1_100)), random.choice(NAMES))


def sparse(path: Path) -> None:
    """The largest file that its file system lets be."""
    size = LARGEST
    with path.open("wb") as file:
        while True:
            try:
                return os.truncate(file.fileno(), size)
            except OSError:
                size //= 2


def die_with_tree(directory: Path) -> tuple[Path, Path]:
    """A tree and a file of an agent that was killed: it had made the file before."""
    tree, file = (directory / f"{PREFIX}{name}" for name in ("tree", "file"))
    left_by_a_killed_agent(PutText(path=file, text=""), MakeDirectory(path=tree))
    return tree, file


@pytest.mark.parametrize("levels", [983, 984, 1_100, 5_000])
def test_a_tree_of_any_depth_goes_and_what_was_changed_before_is_put_back(
    levels: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, file = die_with_tree(tmp_path)
    dug(tree, levels)
    assert restore_verb() == ExitCode.DONE
    removed = [f"an earlier run was killed: removed {path}" for path in (tree, file)]
    assert capsys.readouterr().out.splitlines() == removed
    assert not [*tmp_path.iterdir()]


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    tree, _ = die_with_tree(tmp_path)
    dug(tree, 1_500)
    own = len([*Path("/proc/self/fd").iterdir()])
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, own + 64), hard))
    try:
        assert len(recover()) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not [*tmp_path.iterdir()]


def whatever_is_left_goes(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        tree, _ = die_with_tree(tmp_path)
        disturbed(Random(seed), tree)
        with subprocess.Popen(("sleep", "60"), cwd=tree) as stands:
            said = recover()
            stands.kill()
        assert len(said) == 2, f"seed {seed}: {said}"
        assert not [*tmp_path.iterdir()], f"seed {seed}"


def test_trees_of_bad_faith_go(tmp_path: Path) -> None:
    whatever_is_left_goes(range(10), tmp_path)


@pytest.mark.conformance
def test_many_trees_of_bad_faith_go(tmp_path: Path) -> None:
    whatever_is_left_goes(range(10, 210), tmp_path)


@pytest.fixture
def immutable(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A tree with a file that no one may remove, and one that was made before it."""
    tree, file = die_with_tree(tmp_path)
    (tree / "kept").touch()
    subprocess.run(("chattr", "+i", tree / "kept"), check=True)
    yield tree, file
    if (tree / "kept").exists():
        subprocess.run(("chattr", "-i", tree / "kept"), check=True)


@needs_root
def test_what_is_immutable_is_one_line_with_its_fix_and_all_else_goes(
    immutable: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tree, file = immutable
    dug(tree, 1_100)
    assert restore_verb() == ExitCode.NOT_RESTORED
    told = capsys.readouterr()
    assert told.out == f"an earlier run was killed: removed {file}\n"
    (line,) = told.err.splitlines()
    assert f"{tree}: not removed: {tree}/kept: Operation not permitted" in line
    assert [*tree.iterdir()] == [tree / "kept"]
    with Ledger() as other:
        Steps(other).take([PutText(path=file, text="")])
        assert file.exists()
    assert not file.exists(), "another run is not concerned"
    subprocess.run(line.partition("Fix: ")[2].split(), check=True)
    assert restore_verb() == ExitCode.DONE


@needs_root
def test_what_somebody_mounts_below_is_one_line_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, file = die_with_tree(tmp_path)
    (tree / "theirs").mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", tree / "theirs"), check=True)
    try:
        (tree / "theirs/file").touch()
        assert restore_verb() == ExitCode.NOT_RESTORED
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{tree}: not removed, because {tree}/theirs is mounted" in line
        assert (tree / "theirs/file").exists()
        assert not file.exists()
    finally:
        subprocess.run(("umount", tree / "theirs"), check=True)
    assert restore_verb() == ExitCode.DONE


def test_without_an_engine_that_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, file = die_with_tree(tmp_path)
    program = tmp_path / "engine"
    for text, says in (
        (None, f"there is no {program}"),
        ("#!/bin/sh\nkill -9 $$", "it has ended"),
        ("#!/bin/sh\necho confused >&2; exit 2", "confused"),
        ("no program", "Exec format error"),
    ):
        if text:
            program.write_text(text)
            program.chmod(0o755)
        with monkeypatch.context() as patched:
            patched.setenv("TILTYARD_ENGINE", str(program))
            hosts.close()
            assert restore_verb() == ExitCode.NOT_RESTORED
        (line,) = capsys.readouterr().err.splitlines()
        assert says in line
        assert file.exists()
    program.unlink()
    assert restore_verb() == ExitCode.DONE
    assert not [*tmp_path.iterdir()]


def test_what_clean_cannot_remove_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (left := tmp_path / "left").mkdir()
    (left / "file").touch()
    program = tmp_path / "engine"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = remove ] || exec {Engine.find().path} "$@"\necho confused >&2; exit 2'
    )
    program.chmod(0o755)
    monkeypatch.setenv("TILTYARD_ENGINE", str(program))
    with pytest.raises(TiltyardError, match=f"{left}: confused"):
        remove_tree(left)
    assert left.exists()


def test_clean_tells_the_size_of_such_a_tree_and_removes_it(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('question = "q"\n')
    left = tmp_path / "work/tiltyard-left"
    left.mkdir(parents=True)
    dug(left, 1_100)
    (left / "file").write_bytes(bytes(1 << 20))
    found = leftovers([tmp_path])
    assert [one.path for one in found.leftovers] == [str(left)]
    assert found.free_bytes > 1 << 20
    remove(found)
    assert not left.exists()
