"""The bare loop, compiled where it is needed."""

import functools
import subprocess
import tempfile
from pathlib import Path

from ..processes import timed

SOURCE = Path(__file__).with_name("loop.c")


def operation_s(
    directory: Path, file_bytes: int, record_bytes: int, passes: int, order: str, check: str
) -> float:
    """Time per record of cached reads, in seconds; see the source for what may be said."""
    sizes = [str(file_bytes), str(record_bytes), str(passes)]
    program = Path(_compiled().name) / "loop"
    _, printed = timed([program, "loop.tmp", *sizes, order, check], directory)
    return float(printed) / (passes * (file_bytes // record_bytes))


@functools.cache
def _compiled() -> "tempfile.TemporaryDirectory[str]":
    """A folder with the program, which is gone when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="tiltyard-loop-")
    compiled = ["cc", "-O2", "-Wall", "-o", f"{folder.name}/loop", str(SOURCE)]
    subprocess.run(compiled, check=True)
    return folder
