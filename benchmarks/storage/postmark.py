"""PostMark beside the original.

The original knows whole seconds only. Its phases are told apart by what it prints, for which it is
given a terminal, so that nothing lingers in a buffer.
"""

import os
import pty
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .harness import WHOLE, Comparison, Pair, Times
from .sides import LIMIT_S, Trial

INNER = "transactions"


def comparisons() -> list[Comparison]:
    """The defaults, and a script often found in print, with streams and without."""
    return [
        _pair("postmark, defaults", 500, 500, buffering=True),
        _pair("postmark, 20,000 transactions", 1_000, 20_000, buffering=True),
        _pair("postmark, the same unbuffered", 1_000, 20_000, buffering=False),
    ]


def _pair(name: str, files: int, transactions: int, *, buffering: bool) -> Pair:
    parameters = {"files": files, "transactions": transactions, "buffering": buffering}

    def ours(directory: Path) -> Times:
        return Trial(directory, "postmark", parameters).times(INNER, "transactions")

    def theirs(directory: Path) -> Times:
        script = (
            f"set number {files}\nset transactions {transactions}\n"
            f"set buffering {str(buffering).lower()}\nrun\nquit\n"
        )
        return _watched(script, directory, transactions)

    targets = {INNER: 1.0} if transactions == 500 else {WHOLE: 1.0, INNER: 1.0}
    return Pair(name, "postmark", ours, theirs, ("postmark",), targets)


def _watched(script: str, directory: Path, transactions: int) -> dict[str, float]:
    """Time of the whole process, and of one transaction."""
    ours, theirs = pty.openpty()
    whole: dict[str, Any] = {"cwd": directory, "stdin": subprocess.PIPE, "stdout": theirs}
    begin = time.perf_counter()
    with subprocess.Popen(["postmark"], **whole) as process, os.fdopen(ours, "rb", 0) as terminal:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(script.encode())
        process.stdin.close()
        instants = dict(_phases(terminal.fileno()))
        if process.wait(LIMIT_S) != 0:
            raise subprocess.CalledProcessError(process.returncode, "postmark")
    whole_s = time.perf_counter() - begin
    inner_s = instants["Deleting"] - instants["Performing"]
    return {WHOLE: whole_s, INNER: inner_s / transactions}


def _phases(terminal: int) -> Iterator[tuple[str, float]]:
    """The first words of the phases and when they were seen."""
    awaited = ["Performing", "Deleting"]
    seen = ""
    while True:
        try:
            printed = os.read(terminal, 65_536)
        except OSError:  # EIO: nobody has the other end any more
            return
        if not printed:
            return
        now = time.perf_counter()
        seen += printed.decode()
        while awaited and awaited[0] in seen:
            yield awaited.pop(0), now
