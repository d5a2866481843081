"""What benchmarks of growing studies ask on their command lines."""

import argparse
from collections.abc import Sequence
from pathlib import Path


def asked(
    about: str | None, option: str, usual: Sequence[int], what: str
) -> tuple[list[int], Path | None]:
    """The sizes to measure, ascending, and the directory to write the studies in.

    Args:
        about: the benchmark, for its help.
        option: of the sizes: ``--values``.
        usual: sizes where none is given.
        what: is counted.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(option, dest="sizes", type=int, nargs="+", default=usual, help=what)
    parser.add_argument("--directory", type=Path, help="to write the studies in")
    options = parser.parse_args()
    return sorted(options.sizes), options.directory
