"""A server of ssh on loopback, with keys and a configuration of its own, for one test.

Whoever logs in finds themselves in a directory of the test instead of their home.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

from tiltyard.host.packages import find_program

_STARTS_S = 10.0
_SEPARATION = Path("/run/sshd")
"""An empty directory that sshd insists on when root starts it."""


@dataclass(frozen=True)
class Sshd:
    """A server that accepts one key."""

    far: str
    """As ``ssh`` takes it: user and host."""
    options: list[str]
    """What ``ssh`` needs to get in without a question."""
    home: Path
    """Where commands are executed."""


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """Start a server at a free port, and end it.

    It fails, and does not skip, if there is none: ``make setup-dev`` installs it.
    """
    program = find_program("sshd")
    assert program is not None, "sshd is missing: make setup-dev"
    home = folder / "home"
    home.mkdir(parents=True)
    for name in ("host_key", "key"):
        subprocess.run(
            ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)), check=True
        )
    port = _free_port()
    (folder / "config").write_text(_config(folder, home, port))
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    options = ["-F", "none", "-p", str(port), "-i", str(folder / "key"),
               "-o", f"UserKnownHostsFile={folder / 'known_hosts'}"]  # fmt: skip
    log = folder / "log"
    argv = (program, "-D", "-E", str(log), "-f", str(folder / "config"))
    with _separation(), subprocess.Popen(argv) as server:
        try:
            _await(port, log)
            yield Sshd(far=f"{getuser()}@127.0.0.1", options=options, home=home)
        finally:
            server.terminate()


def _config(folder: Path, home: Path, port: int) -> str:
    """Nothing of this host's own configuration."""
    return "\n".join(
        [
            f"Port {port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {folder / 'host_key'}",
            f"AuthorizedKeysFile {folder / 'key.pub'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            f'ForceCommand cd {home} && eval "$SSH_ORIGINAL_COMMAND"',
            "",
        ]
    )


@contextmanager
def _separation() -> Iterator[None]:
    """The directory for the separation of privileges, removed again if it was not there."""
    make = os.geteuid() == 0 and not _SEPARATION.exists()
    if make:
        _SEPARATION.mkdir(mode=0o755)
    try:
        yield
    finally:
        if make:
            _SEPARATION.rmdir()


def _free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(port: int, log: Path) -> None:
    """Wait until it accepts connections."""
    give_up = time.monotonic() + _STARTS_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.02)
