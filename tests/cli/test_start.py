"""The command before it does anything: while it loads, and when it only helps."""

import os
import subprocess
import sys
from pathlib import Path

from tiltyard.errors import ExitCode

COMMAND = (sys.executable, "-m", "tiltyard")


def test_an_interrupt_while_it_loads_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cyclopts.py").write_text("raise KeyboardInterrupt\n")
    beside = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": beside}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERRUPTED
    assert (done.stdout, done.stderr) == ("", "tiltyard: interrupted\n")


def test_help_for_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            (*COMMAND, "--help"), stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (ExitCode.DONE, b"")
