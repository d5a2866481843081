"""iperf3, by the rate that its server received."""

import json
from pathlib import Path

from ..harness import Side, Times
from ..processes import timed
from .far import serving
from .rig import Rig, free_port


def stream(rig: Rig, message: int, seconds: int) -> Side:
    """One TCP stream; its buffer is as long at both ends, there is no other way."""
    argv = ["iperf3", "-c", rig.address, "-t", f"{seconds}", "-l", f"{message}", "--json"]

    def side(directory: Path) -> Times:
        port = free_port()
        server = ["iperf3", "-s", "-1", "-B", rig.address, "-p", port]
        with serving(rig, server, port, directory):
            _, printed = timed(rig.near([*argv, "-p", port]), directory)
        return {"per byte": 8 / json.loads(printed)["end"]["sum_received"]["bits_per_second"]}

    return side
