"""iperf3, by the rate that its server received."""

import json
from pathlib import Path

from ..harness import CPU, Side, Times
from .ends import together
from .rig import Rig, free_port


def stream(rig: Rig, message: int, seconds: int) -> Side:
    """One TCP stream; its buffer is as long at both ends, there is no other way."""
    argv = ["iperf3", "-c", rig.address, "-t", f"{seconds}", "-l", f"{message}", "--json"]

    def side(directory: Path) -> Times:
        port = free_port()
        server = ["iperf3", "-s", "-1", "-B", rig.address, "-p", port]
        cpu_s, printed = together(rig, server, [*argv, "-p", port], port, directory)
        received = json.loads(printed)["end"]["sum_received"]
        return {"per byte": 8 / received["bits_per_second"], CPU: cpu_s / received["bytes"]}

    return side
