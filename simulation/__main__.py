"""``python -m simulation [--paths N] [--write FILE] [--quote FILE]``: writes the document.

``--only SECTION`` renews that one in the file.
"""

import argparse
import os
import sys
from pathlib import Path

from simulation import PATHS, SEED, document, simulate
from simulation.document import renewed
from simulation.quote import quote
from simulation.sections import SECTIONS


def main() -> None:
    """Simulate and write."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS, help="comparisons of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="sections at a time")
    names = [section.name for section in SECTIONS]
    parser.add_argument(
        "--only", choices=names, help="the section that is renewed in the file to write"
    )
    parser.add_argument("--write", type=Path, help="file to write instead of standard output")
    parser.add_argument("--quote", type=Path, help="file for the data that calibrations quote")
    given = parser.parse_args()
    if given.paths < 1 or given.jobs < 1:
        parser.error("--paths and --jobs must be at least 1")
    if given.only:
        if not given.write or given.quote:
            parser.error("--only renews a section of the file that --write names, and no --quote")
        old = given.write.read_text(encoding="utf-8")
        text = renewed(old, SECTIONS[names.index(given.only)], given.paths, given.seed)
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
