"""PostMark beside the original.

The original knows whole seconds only, but it says at once which phase begins: the time of all
transactions is that between two of its messages.
"""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO

from ..harness import Comparison, Pair, Times
from ..processes import spending
from .sides import Trial

INNER = "transactions"


def comparisons() -> list[Comparison]:
    """The defaults, and a script often found in print, with streams and without."""
    default, printed = (500, 500), (1_000, 20_000)
    return [
        _pair("postmark, defaults", default, timing="pass", buffering=True),
        _pair("postmark, defaults, each timed", default, timing="operation", buffering=True),
        _pair("postmark, 20,000", printed, timing="pass", buffering=True),
        _pair("postmark, 20,000, each timed", printed, timing="operation", buffering=True),
        _pair("postmark, 20,000, unbuffered", printed, timing="pass", buffering=False),
    ]


def _pair(name: str, numbers: tuple[int, int], *, timing: str, buffering: bool) -> Pair:
    """A pair whose rates of transactions shall be equal at least.

    Where the engine times each call, which the original does not, it may lose a little by that.
    """
    files, transactions = numbers
    work = {"files": files, "transactions": transactions, "buffering": buffering}
    parameters = {**work, "timing": timing}
    script = (
        f"set number {files}\nset transactions {transactions}\n"
        f"set buffering {str(buffering).lower()}\nrun\nquit\n"
    )
    targets = {INNER: 1.0 if timing == "pass" else 0.95}

    def ours(directory: Path) -> Times:
        return Trial(directory, "postmark", parameters).times(INNER, "transactions")

    def theirs(directory: Path) -> Times:
        spent, inner_s = _watched(script, directory)
        return {**spent, INNER: inner_s / transactions}

    return Pair(name, "postmark", ours, theirs, ("postmark",), targets)


def _watched(script: str, directory: Path) -> tuple[Times, float]:
    """What the whole process spent, and the time of all its transactions in seconds."""
    with (
        spending() as spent,
        subprocess.Popen(["postmark"], cwd=directory, stdin=PIPE, stdout=PIPE) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(script.encode())
        process.stdin.close()
        instants = dict(_phases(process.stdout))
    if process.returncode != 0 or len(instants) != 2:
        raise RuntimeError(f"postmark: exit status {process.returncode}, phases {instants}")
    return spent, instants["Deleting"] - instants["Performing"]


def _phases(printed: IO[bytes]) -> Iterator[tuple[str, float]]:
    """The first words of the phases and when they were seen."""
    awaited = ["Performing", "Deleting"]
    seen = ""
    while part := printed.read1():  # type: ignore[attr-defined]
        now = time.perf_counter()
        seen += part.decode()
        while awaited and awaited[0] in seen:
            yield awaited.pop(0), now
