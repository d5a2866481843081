"""What is derived from the code is as the code would give it now."""

import subprocess
import sys
from pathlib import Path

GENERATE = Path(__file__).resolve().parents[2] / "scripts/generate.py"


def test_generated_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, GENERATE, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
