"""Both ends: a server that is started, waited for, and ended, and a client meanwhile."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..harness import CPU
from ..processes import Words, spending, timed
from .rig import Rig

APPEARS_S = 10
LISTENS = "0A"
"""State of a TCP socket in /proc/net/tcp."""
UNCONNECTED = "07"
"""The same of a UDP socket that anyone may send to."""


def together(
    rig: Rig,
    server: Words,
    client: Words,
    port: str,
    directory: Path,
    *,
    given: bytes = b"",
    proto: str = "tcp",
) -> tuple[float, bytes]:
    """CPU time that both ends spent, and what the client printed."""
    with spending() as spent, _serving(rig, server, port, directory, proto):
        _, printed = timed(rig.near(client), directory, given)
    return spent[CPU], printed


@contextmanager
def _serving(rig: Rig, argv: Words, port: str, directory: Path, proto: str) -> Iterator[None]:
    """The server of a rig, from when its socket is there to the end of its process.

    Raises:
        RuntimeError: if it does not listen in time.
    """
    with subprocess.Popen(
        rig.far(argv), cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _wait(server, int(port), proto)
            yield
        finally:
            server.terminate()


def _wait(server: subprocess.Popen[bytes], port: int, proto: str) -> None:
    """Until its namespace has the socket; a connection to try it would be a client to some."""
    state = LISTENS if proto == "tcp" else UNCONNECTED
    end_s = time.monotonic() + APPEARS_S
    while time.monotonic() < end_s:
        if server.poll() is not None:
            break
        lines = Path(f"/proc/{server.pid}/net/{proto}").read_text().splitlines()[1:]
        sockets = [line.split()[1:4] for line in lines]
        if any(local.endswith(f":{port:04X}") and st == state for local, _, st in sockets):
            return
        time.sleep(0.005)
    raise RuntimeError(f"{server.args!r} does not listen")
