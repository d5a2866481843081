"""netperf and its netserver, by netperf's own figure."""

from collections.abc import Sequence
from pathlib import Path

from ..harness import CPU, Side, Times
from .ends import together
from .rig import Rig, free_port


def stream(rig: Rig, message: int, seconds: int) -> Side:
    """TCP_STREAM; what the server received over the time of the client."""
    argv = _argv(rig, "TCP_STREAM", seconds, ["-f", "m"], ["-m", f"{message}"])

    def side(directory: Path) -> Times:
        megabits_s, cpu_s = _figure(rig, argv, directory)
        byte_s = 8 / 1e6 / megabits_s
        return {"per byte": byte_s, CPU: cpu_s / seconds * byte_s}

    return side


def exchange(rig: Rig, test: str, length: int, size: int = 1) -> Side:
    """TCP_RR, UDP_RR or TCP_CRR; a length of less than 0 is a number of transactions."""
    argv = _argv(rig, test, length, [], ["-r", f"{size},{size}"])

    def side(directory: Path) -> Times:
        rate, cpu_s = _figure(rig, argv, directory)
        count = -length if length < 0 else rate * length
        return {"per transaction": 1 / rate, CPU: cpu_s / count}

    return side


def _argv(
    rig: Rig, test: str, length: int, more: Sequence[str], specific: Sequence[str]
) -> list[str]:
    """The command line of a test of which only the figure is printed."""
    where = ["-4", "-H", rig.address, "-t", test, "-l", f"{length}"]
    return ["netperf", *where, "-P", "0", "-v", "0", *more, "--", *specific]


def _figure(rig: Rig, argv: Sequence[str], directory: Path) -> tuple[float, float]:
    """The one number that is printed, in the unit that was asked for, and the CPU time."""
    port = free_port()
    # Without a process for each client (-f), whose CPU time would be nobody's.
    server = ["netserver", "-D", "-N", "-f", "-L", rig.address, "-p", port]
    client = [argv[0], "-p", port, *argv[1:]]
    cpu_s, printed = together(rig, server, client, port, directory)
    return float(printed.split()[0]), cpu_s
