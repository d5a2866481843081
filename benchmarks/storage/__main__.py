"""Run the comparisons: the engine and a peer in turn, paired ratios with their spread.

python -m benchmarks.storage [--seconds 8] [--directory DIR] [--device DIR] [NAME …]
"""

import argparse
import os
import random
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from . import agreement, fs_mark, iozone, postmark, random_read, start, uring
from .harness import header, missing

MODULES = (start, postmark, fs_mark, iozone, random_read, uring, agreement)
DISK = Path(tempfile.gettempdir())


def _memory() -> Path:
    """Files in memory show the programs; files on a disk show what else it has to do."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else DISK


def main() -> None:
    """Print the table, and how many figures fell short of their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only comparisons whose names begin so")
    parser.add_argument("--seconds", type=float, default=8, help="of rounds, per comparison")
    parser.add_argument("--directory", type=Path, default=_memory(), help="to work in")
    parser.add_argument(
        "--device", type=Path, default=DISK, help="to work in where there must be a device"
    )
    options = parser.parse_args()
    # Every name begins with nothing.
    wanted = tuple(options.names) or ("",)
    every = [each for module in MODULES for each in module.comparisons()]
    chosen = [each for each in every if each.name.startswith(wanted)]
    if not chosen:
        names = dict.fromkeys(each.name.partition(",")[0] for each in every)
        parser.error(f"no comparison begins so; there are: {', '.join(names)}")
    rng = random.Random(20261121)
    short = 0
    say(_machine())
    say(header())
    for comparison in chosen:
        if lacking := missing(comparison):
            say(f"{comparison.name:<32}  left out: {', '.join(lacking)} is not on PATH")
            continue
        place = options.device if comparison.on_device else options.directory
        try:
            for row in comparison.rows(options.seconds, place, rng):
                say(str(row))
                short += not row.ok
        except RuntimeError as error:
            say(f"{comparison.name:<32}  failed: {error}")
            short += 1
    say(f"{short} short of their targets" if short else "all targets reached")
    say(_machine())


def _machine() -> str:
    """Where and when, and how busy it is."""
    now, load = datetime.now(tz=UTC), os.getloadavg()[0]
    machine = f"Linux {os.uname().release}, {os.cpu_count()} CPUs"
    return f"{now:%Y-%m-%d %H:%M} UTC, {machine}, load {load:.1f}"


def say(line: str) -> None:
    """Print at once: a row takes seconds."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
