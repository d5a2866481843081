"""netperf and its netserver, by netperf's own figure."""

from collections.abc import Sequence
from pathlib import Path

from ..harness import Side, Times
from ..processes import timed
from .far import serving
from .rig import Rig, free_port


def stream(rig: Rig, message: int, seconds: int) -> Side:
    """TCP_STREAM; what the far end received over the time of the near end."""
    argv = _argv(rig, "TCP_STREAM", seconds, ["-f", "m"], ["-m", f"{message}"])

    def side(directory: Path) -> Times:
        return {"per byte": 8 / 1e6 / _figure(rig, argv, directory)}

    return side


def exchange(rig: Rig, test: str, length: int, size: int = 1) -> Side:
    """TCP_RR, UDP_RR or TCP_CRR; a length of less than 0 is a number of transactions."""
    argv = _argv(rig, test, length, [], ["-r", f"{size},{size}"])

    def side(directory: Path) -> Times:
        return {"per transaction": 1 / _figure(rig, argv, directory)}

    return side


def _argv(
    rig: Rig, test: str, length: int, more: Sequence[str], specific: Sequence[str]
) -> list[str]:
    """The command line of a test of which only the figure is printed."""
    where = ["-4", "-H", rig.address, "-t", test, "-l", f"{length}"]
    return ["netperf", *where, "-P", "0", "-v", "0", *more, "--", *specific]


def _figure(rig: Rig, argv: Sequence[str], directory: Path) -> float:
    """The one number that is printed, in the unit that was asked for."""
    port = free_port()
    server = ["netserver", "-D", "-N", "-L", rig.address, "-p", port]
    with serving(rig, server, port, directory):
        _, printed = timed(rig.near([argv[0], "-p", port, *argv[1:]]), directory)
    return float(printed.split()[0])
