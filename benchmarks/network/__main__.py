"""Run the comparisons over loopback and, as root, between two network namespaces.

python -m benchmarks.network [--seconds 1] [NAME …]
"""

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from ..harness import Group
from ..table import asking, say, tabulate, wanted
from . import exchanges, own, streams
from .peers import lacking
from .rig import Rig, loopback, namespaces


def main() -> None:
    """Print the table, and how many figures fell short of their targets."""
    options = asking(__doc__, seconds=1).parse_args()
    # What was made is removed again also where the process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ExitStack() as made:
        every = _over_loopback()
        if os.geteuid() == 0:
            every += _between_namespaces(made.enter_context(namespaces()))
        else:
            say("left out: network namespaces, which need root")
        for program in lacking():
            say(f"left out: {program} is not on PATH")
        there = [each for each in every if each.peers]
        place = Path(tempfile.gettempdir())
        tabulate(wanted(options, there), options.seconds, lambda _: place)


def _over_loopback() -> list[Group]:
    """Transactions have both ends on one CPU: waking another costs more than what is woken does."""
    rig = loopback()
    alone = rig.on_one_cpu()
    return [
        *streams.comparisons(rig),
        *exchanges.comparisons(alone),
        *exchanges.ping_pong(alone),
        *own.comparisons(rig),
    ]


def _between_namespaces(rig: Rig) -> list[Group]:
    """Each end on a CPU of its own."""
    return [*streams.comparisons(rig), *exchanges.comparisons(rig)]


if __name__ == "__main__":
    main()
