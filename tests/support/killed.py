"""A system brought up and taken down by a process that kills itself after a line of its ledger.

Called as ``python -m support.killed KIND SETTINGS WORK LINES``: it dies as soon as so many lines of
the ledger are on the disk, before it makes the change that the last of them tells of. With 0 it
lives, and says how many lines there were.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from support.patience import PATIENCE_S
from tiltyard.host import ledger
from tiltyard.host.ledger_file import append
from tiltyard.systems import kind
from tiltyard.systems.kind import Site


def turn(name: str, settings: Mapping[str, Any], work: Path, lines: int) -> int | None:
    """One turn in a process of its own.

    Args:
        name: the kind of system.
        settings: of the system.
        work: where it works; ``work/work`` is its scratch space.
        lines: of the ledger, after which the process is killed; 0 for never.

    Returns:
        How many lines the ledger had; ``None`` if the process was killed.
    """
    argv = (sys.executable, "-m", "support.killed", name, json.dumps(settings), work, str(lines))
    done = subprocess.run(
        argv,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def main() -> None:
    """The process."""
    name, settings, work, lines = sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:]
    written = _dying_after(int(lines))
    with ledger.Ledger() as own:
        site = Site(root=Path(work), work=Path(work) / "work", ledger=own)
        system = kind(name).system("one", settings, site)
        system.bring_up()
        system.take_down()
    sys.stdout.write(f"{next(written) - 1}\n")


def _dying_after(lines: int) -> Iterator[int]:
    """Count lines from now on, from 1; what comes next is how many there will have been and one."""
    numbers = count(1)

    def counting(file: int, path: Path, line: dict[str, object]) -> None:
        append(file, path, line)
        if next(numbers) == lines:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger.append = counting
    return numbers


if __name__ == "__main__":
    main()
