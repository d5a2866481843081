"""``python -m simulation [--paths N] [--only SECTION] [--write FILE]``: writes the document."""

import argparse
import os
import sys
from pathlib import Path

from simulation import PATHS, SEED, document, simulate, with_section
from simulation.quote import quote


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS, help="comparisons of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="sections at a time")
    parser.add_argument("--write", type=Path, help="file to write instead of standard output")
    parser.add_argument("--quote", type=Path, help="file for the data that calibrations quote")
    parser.add_argument("--only", help="simulate this section, and keep the others of --write")
    given = parser.parse_args()
    if given.paths < 1 or given.jobs < 1:
        parser.error("--paths and --jobs must be at least 1")
    if given.only:
        if not given.write:
            parser.error("--only needs the document that it changes: --write FILE")
        written = given.write.read_text(encoding="utf-8")
        text = with_section(written, given.only, given.paths, given.seed)
        given.write.write_text(text, encoding="utf-8")
        return
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
