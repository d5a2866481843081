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

from .harness import WHOLE, Comparison, Pair, Times
from .sides import Trial

INNER = "transactions"


def comparisons() -> list[Comparison]:
    """The defaults, and a script often found in print, with streams and without."""
    return [
        _pair("postmark, defaults", 500, 500, (INNER,), buffering=True),
        _pair("postmark, 20,000 transactions", 1_000, 20_000, (WHOLE, INNER), buffering=True),
        _pair("postmark, the same unbuffered", 1_000, 20_000, (WHOLE, INNER), buffering=False),
    ]


def _pair(
    name: str, files: int, transactions: int, held: tuple[str, ...], *, buffering: bool
) -> Pair:
    """A pair whose ratios of `held` shall be 1 at least.

    The defaults take a few milliseconds, of which the start of a process is a good part.
    """
    parameters = {"files": files, "transactions": transactions, "buffering": buffering}
    script = (
        f"set number {files}\nset transactions {transactions}\n"
        f"set buffering {str(buffering).lower()}\nrun\nquit\n"
    )

    def ours(directory: Path) -> Times:
        return Trial(directory, "postmark", parameters).times(INNER, "transactions")

    def theirs(directory: Path) -> Times:
        whole_s, inner_s = _watched(script, directory)
        return {WHOLE: whole_s, INNER: inner_s / transactions}

    return Pair(name, "postmark", ours, theirs, ("postmark",), dict.fromkeys(held, 1.0))


def _watched(script: str, directory: Path) -> tuple[float, float]:
    """Time of the whole process and of all its transactions, in seconds."""
    begin = time.perf_counter()
    with subprocess.Popen(["postmark"], cwd=directory, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(script.encode())
        process.stdin.close()
        instants = dict(_phases(process.stdout))
    whole_s = time.perf_counter() - begin
    if process.returncode != 0 or len(instants) != 2:
        raise RuntimeError(f"postmark: exit status {process.returncode}, phases {instants}")
    return whole_s, instants["Deleting"] - instants["Performing"]


def _phases(printed: IO[bytes]) -> Iterator[tuple[str, float]]:
    """The first words of the phases and when they were seen."""
    awaited = ["Performing", "Deleting"]
    seen = ""
    while part := printed.read1():  # type: ignore[attr-defined]
        now = time.perf_counter()
        seen += part.decode()
        while awaited and awaited[0] in seen:
            yield awaited.pop(0), now
