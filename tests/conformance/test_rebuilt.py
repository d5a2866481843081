"""A release built twice from scratch, in two folders: engine and wheel have the same bytes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.version import ROOT

pytestmark = pytest.mark.conformance


def built(sources: Path, folder: Path, target: Path) -> tuple[bytes, str, bytes]:
    """Clone the commit there and build: the engine, the wheel's name, the wheel.

    Args:
        sources: what is cloned.
        folder: of the clone.
        target: where Cargo works.
    """
    subprocess.run(("git", "clone", "--quiet", sources, folder), check=True)
    script = "from release.python import *; from pathlib import Path; import sys\n"
    script += "engine = build_engine(); print(engine, build_wheel(engine, Path('dist')), sep='\\n')"
    done = subprocess.run(
        ("nice", "-n", "19", sys.executable, "-P", "-c", script),
        cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "CARGO_TARGET_DIR": str(target), "PYTHONPATH": str(folder)},
    )  # fmt: skip
    engine, wheel = map(Path, done.stdout.splitlines())
    return engine.read_bytes(), wheel.name, (folder / wheel).read_bytes()


def test_two_folders_give_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The second is a clone of the first: a commit meanwhile is in neither.
    one, other = tmp_path / "a", tmp_path / "another folder/of another depth"
    first = built(ROOT, one, one / "target")
    second = built(one, other, tmp_path / "output")
    with capsys.disabled():
        for what, contents in (("engine", first[0]), (first[1], first[2])):
            sys.stdout.write(f"\n{hashlib.sha256(contents).hexdigest()}  {what}")
    assert first[0] == second[0], "the engines differ"
    assert first[1:] == second[1:], "the wheels differ"
    for trace in (str(tmp_path), str(Path.home()), "/registry/src/"):
        assert trace.encode() not in first[0]
