"""The engine of a release, built twice from scratch in two folders: the same bytes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.version import ROOT

pytestmark = pytest.mark.conformance


def built(folder: Path, target: Path) -> bytes:
    """Unpack the commit there, and build."""
    folder.mkdir(parents=True)
    archive = subprocess.run(("git", "archive", "HEAD"), cwd=ROOT, check=True, capture_output=True)
    subprocess.run(("tar", "-x", "-C", folder), input=archive.stdout, check=True)
    done = subprocess.run(
        (folder / "scripts/build-engine",),
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return Path(done.stdout.strip()).read_bytes()


def test_two_folders_give_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = built(tmp_path / "a", tmp_path / "a/target")
    second = built(tmp_path / "another folder/of another depth", tmp_path / "output")
    with capsys.disabled():
        sys.stdout.write(f"\nengine sha256 {hashlib.sha256(first).hexdigest()}\n")
    assert first == second
    for trace in (str(tmp_path), str(Path.home()), "/registry/src/"):
        assert trace.encode() not in first
