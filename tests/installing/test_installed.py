"""The wheel, installed as a user would: no clone, no toolchain, no path to either.

What the lab needs comes from the environment of these tests; `make conformance` installs all of it,
in a Debian of its own.
"""

import os
import re
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tiltyard.errors import ExitCode

COMMAND = (sys.executable, "-m", "tiltyard")
HERE = sysconfig.get_path("purelib")


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory) -> Path:
    """A virtual environment with the wheel."""
    made = tmp_path_factory.mktemp("home") / "venv"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", made), check=True)
    pip = (sys.executable, "-m", "pip", "--python", made / "bin/python", "install", "--quiet")
    subprocess.run((*pip, "--no-deps", "--no-index", wheel), check=True)
    packages = next(made.glob("lib/python*/site-packages"))
    (packages / "others.pth").write_text(f"{HERE}\n")
    return made


@pytest.fixture
def tiltyard(home: Path, tmp_path: Path):
    """Call the command in a folder of its own."""

    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{home}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(tmp_path),
            "TILTYARD_STATE": str(tmp_path / "state"),
            "COLUMNS": "400",
            **more,
        }
        return subprocess.run(
            (home / "bin/tiltyard", *words),
            cwd=tmp_path, env=environment, check=False, capture_output=True, text=True,
        )  # fmt: skip

    return call


def test_both_programs_are_there_and_are_those_of_the_wheel(home: Path, tiltyard) -> None:
    code = (
        "import tiltyard; from tiltyard.executors.engine import Engine; "
        "print(tiltyard.__file__, Engine.find().path, tiltyard.__version__)"
    )
    done = subprocess.run(
        (home / "bin/python", "-c", code), cwd="/", check=True, capture_output=True, text=True
    )
    package, engine, version = done.stdout.split()
    assert Path(package).is_relative_to(home)
    assert Path(engine) == home / "bin/tiltyard-engine"
    assert tiltyard("--version").stdout.strip() == version
    described = subprocess.run((engine, "describe"), check=True, capture_output=True)
    assert described.stdout.startswith(b"{")


def test_from_the_wheel_to_a_verdict(tiltyard, tmp_path: Path) -> None:
    done = tiltyard("compare", "-c", "short=sleep 0.01", "-c", "long=sleep 0.03",
                    "--disturbed", "keep", "--folder", "first")  # fmt: skip
    assert done.returncode == ExitCode.DONE, done.stderr
    assert re.search(r"^ *long +.*\bslower(, under load)? *$", done.stdout, re.M), done.stdout
    assert (tmp_path / "first/report/index.html").stat().st_size > 10_000


def test_a_wheel_without_its_engine_says_how_to_get_it_back(
    wheel: Path, home: Path, tiltyard
) -> None:
    engine = home / "bin/tiltyard-engine"
    kept = engine.rename(engine.with_name("kept"))
    try:
        done = tiltyard("workloads")
        assert done.returncode == ExitCode.HOST_LACKS
        command = f"{home}/bin/python -m pip install --force-reinstall {wheel}"
        assert done.stderr == (
            f"tiltyard: there is no tiltyard-engine; looked at {engine}. Fix: {command}\n"
        )
        assert command in " ".join(tiltyard("doctor").stdout.split())
    finally:
        kept.rename(engine)


def test_an_engine_that_may_not_be_executed_says_so(home: Path, tiltyard) -> None:
    engine = home / "bin/tiltyard-engine"
    engine.chmod(0o644)
    try:
        done = tiltyard("workloads")
    finally:
        engine.chmod(0o755)
    assert done.returncode == ExitCode.HOST_LACKS
    assert done.stderr.endswith(f"is not executable by you. Fix: chmod a+rx {engine}\n")


def test_an_engine_of_another_machine_says_so(home: Path, tiltyard, tmp_path: Path) -> None:
    """Its header says SPARC, which no emulator of a host takes for its own here."""
    foreign = tmp_path / "foreign"
    contents = bytearray((home / "bin/tiltyard-engine").read_bytes())
    struct.pack_into("<H", contents, 18, 43)
    foreign.write_bytes(contents)
    foreign.chmod(0o755)
    done = tiltyard("workloads", TILTYARD_ENGINE=str(foreign))
    assert done.returncode == ExitCode.HOST_LACKS
    assert re.search(
        r"is built for sparc64, this host is \w+\. Fix: unset TILTYARD_ENGINE$", done.stderr
    )


def test_an_engine_on_a_file_system_without_programs_says_so(tiltyard, tmp_path: Path) -> None:
    where = tmp_path / "noexec"
    where.mkdir()
    engine = where / "tiltyard-engine"
    script = f'mount -t tmpfs -o noexec none {where} && cp /bin/true {engine} && "$@"'
    done = subprocess.run(
        (*("unshare", "--mount", "sh", "-c", script), "sh", *COMMAND, "workloads"),
        env={**os.environ, "TILTYARD_ENGINE": str(engine)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == ExitCode.HOST_LACKS
    assert "its file system is mounted noexec. Fix: " in done.stderr
