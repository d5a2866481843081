"""sockperf's ping-pong, by what it counts after its warm-up.

It naps for two seconds before it begins, and its messages have at least fourteen bytes.
"""

import re
from pathlib import Path

from ..harness import Side, Times
from .ends import together
from .rig import Rig, free_port

LEAST_BYTES = 14


def exchange(rig: Rig, proto: str, seconds: int) -> Side:
    """A message there and back, over `tcp` or `udp`."""
    options = ["-m", f"{LEAST_BYTES}", *(["--tcp"] if proto == "tcp" else [])]

    def side(directory: Path) -> Times:
        port = free_port()
        where = ["-i", rig.address, "-p", port]
        client = ["sockperf", "ping-pong", *where, *options, "-t", f"{seconds}", "--full-rtt"]
        server = ["sockperf", "server", *where, *options]
        _, printed = together(rig, server, client, port, directory, proto=proto)
        found = re.search(rb"Valid Duration\] RunTime=([\d.]+) .* ReceivedMessages=(\d+)", printed)
        if found is None:
            raise RuntimeError("sockperf printed no duration")
        return {"per transaction": float(found[1]) / int(found[2])}

    return side
