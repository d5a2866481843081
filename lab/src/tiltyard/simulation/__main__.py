"""``python -m tiltyard.simulation [--paths N] [--write FILE]``: writes the document."""

import argparse
import os
import sys
from pathlib import Path

from tiltyard.simulation import PATHS, SEED, document, simulate


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(prog="python -m tiltyard.simulation", description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS, help="comparisons of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="sections at a time")
    parser.add_argument("--write", type=Path, help="file to write instead of standard output")
    given = parser.parse_args()
    if given.paths < 1 or given.jobs < 1:
        parser.error("--paths and --jobs must be at least 1")
    text = document(simulate(given.paths, given.seed, given.jobs))
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
