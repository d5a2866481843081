"""Run the comparisons: the engine and a peer in turn, paired ratios with their spread.

python -m benchmarks.storage [--seconds 8] [--directory DIR] [--device DIR] [NAME …]
"""

import os
import tempfile
from pathlib import Path

from ..table import asking, tabulate, wanted
from . import agreement, fs_mark, iozone, postmark, random_read, start, uring

MODULES = (start, postmark, fs_mark, iozone, random_read, uring, agreement)
DISK = Path(tempfile.gettempdir())


def _memory() -> Path:
    """Files in memory show the programs; files on a disk show what else it has to do."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else DISK


def main() -> None:
    """Print the table, and how many figures fell short of their targets."""
    parser = asking(__doc__, seconds=8)
    parser.add_argument("--directory", type=Path, default=_memory(), help="to work in")
    parser.add_argument(
        "--device", type=Path, default=DISK, help="to work in where there must be a device"
    )
    options = parser.parse_args()
    every = [each for module in MODULES for each in module.comparisons()]
    tabulate(
        wanted(options, every),
        options.seconds,
        lambda comparison: options.device if comparison.on_device else options.directory,
    )


if __name__ == "__main__":
    main()
