"""A netperf and a netserver, each of them the original or ours."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.patience import PATIENCE_S
from tiltyard.executors.engine import Engine

ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class Ends:
    """Which program is at which end.

    Attributes:
        netperf: command that is the client.
        port: where the server of the other end listens.
    """

    netperf: list[str]
    port: int

    def run(self, directory: Path, test: str, length: int, *words: str) -> str:
        """What the client printed of one test; it must be content, and silent otherwise."""
        where = ["-4", "-H", ADDRESS, "-p", f"{self.port}", "-t", test, "-l", f"{length}"]
        done = subprocess.run(
            [*self.netperf, *where, *words],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    def selected(
        self, directory: Path, test: str, length: int, names: Sequence[str], *specific: str
    ) -> dict[str, int]:
        """Whole numbers that the client was asked for by name."""
        select = ["-P", "0", "--", *specific, "-k", ",".join(names)]
        printed = self.run(directory, test, length, *select)
        found = dict(line.split("=", 1) for line in printed.splitlines())
        assert set(found) >= set(names), printed
        return {name: int(found[name]) for name in names}


def original_netperf() -> list[str]:
    """The client that is on PATH."""
    return ["netperf"]


def our_netperf(directory: Path) -> list[str]:
    """The engine by the name of the client, told whom it will meet."""
    return _ours(directory, "netperf")


@contextmanager
def original_netserver() -> Iterator[int]:
    """The server that is on PATH; its port."""
    with _netserver(["netserver"]) as port:
        yield port


@contextmanager
def our_netserver(directory: Path) -> Iterator[int]:
    """The engine by the name of the server; its port."""
    with _netserver(_ours(directory, "netserver")) as port:
        yield port


def _ours(directory: Path, name: str) -> list[str]:
    link = directory / name
    link.symlink_to(Engine.find().path)
    return [f"{link}", "--release", _release()]


@cache
def _release() -> str:
    """Of the original, as far as its control connection is concerned: 2.6, or 2.7 and later."""
    said = subprocess.run(["netperf", "-V"], capture_output=True, text=True, check=False).stdout
    return "2.6" if " 2.6." in said else "2.7"


@contextmanager
def _netserver(command: Sequence[str]) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
    with _process([*command, "-D", "-N", "-4", "-L", ADDRESS, "-p", f"{port}"]) as server:
        _listens(server, port)
        yield port


@contextmanager
def _process(argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def _listens(server: subprocess.Popen[bytes], port: int) -> None:
    """Until it takes a connection; the original serves one without a word and goes on."""
    end_s = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < end_s:
        try:
            socket.create_connection((ADDRESS, port), PATIENCE_S).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError(f"{server.args!r} does not listen")
