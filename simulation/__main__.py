"""``python -m simulation [--paths N] [--write FILE] [--quote FILE]``: writes the document."""

import argparse
import os
import sys
from pathlib import Path

from simulation import PATHS, SEED, document, simulate
from simulation.quote import quote


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS, help="comparisons of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="sections at a time")
    parser.add_argument("--write", type=Path, help="file to write instead of standard output")
    parser.add_argument("--quote", type=Path, help="file for the data that calibrations quote")
    given = parser.parse_args()
    if given.paths < 1 or given.jobs < 1:
        parser.error("--paths and --jobs must be at least 1")
    results = simulate(given.paths, given.seed, given.jobs)
    if given.quote:
        given.quote.write_text(quote(results).model_dump_json(indent=1) + "\n", encoding="utf-8")
    text = document(results)
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
