"""Run the comparisons: the engine and a peer in turn, paired ratios with their spread.

python -m benchmarks.storage [--seconds 12] [--directory DIR] [NAME …]
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from . import agreement, fs_mark, iozone, postmark, random_read, start, uring
from .harness import header, missing

MODULES = (start, postmark, fs_mark, iozone, random_read, uring, agreement)


def main() -> None:
    """Print the table, and how many figures fell short of their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only comparisons whose names begin so")
    parser.add_argument("--seconds", type=float, default=12, help="of rounds, per comparison")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    rng = random.Random(20261121)
    short = 0
    say(header())
    for comparison in (each for module in MODULES for each in module.comparisons()):
        if options.names and not comparison.name.startswith(tuple(options.names)):
            continue
        if lacking := missing(comparison):
            say(f"{comparison.name:<32}  left out: {', '.join(lacking)} is not on PATH")
            continue
        for row in comparison.rows(options.seconds, options.directory, rng):
            say(str(row))
            short += not row.ok
    say(f"{short} short of their targets" if short else "all targets reached")


def say(line: str) -> None:
    """Print at once: a row takes seconds."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
