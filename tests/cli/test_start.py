"""The command before it does anything: while it loads, and when it only helps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiltyard import __version__
from tiltyard.errors import ExitCode

COMMAND = (sys.executable, "-m", "tiltyard")


def test_an_interrupt_while_it_loads_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cyclopts.py").write_text("raise KeyboardInterrupt\n")
    beside = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": beside}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERRUPTED
    assert (done.stdout, done.stderr) == ("", "tiltyard: interrupted\n")


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_words_for_a_reader_that_has_gone_are_no_error(asked: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run((*COMMAND, asked), stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (ExitCode.DONE, b"")


def test_the_version_is_told_without_the_command_line() -> None:
    words = (
        "import sys; from tiltyard.__main__ import main; main(); print('cyclopts' in sys.modules)"
    )
    done = subprocess.run(
        (sys.executable, "-c", words, "--version"), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [__version__, "False"]


def test_a_version_that_cannot_be_told_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            (*COMMAND, "--version"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == ExitCode.HOST_LACKS
    assert done.stderr.startswith("tiltyard: No space left on device. Fix: ")
