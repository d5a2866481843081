"""A server of ssh on loopback, with keys and a configuration of its own, for one test.

Whoever logs in finds themselves in a directory of the test instead of their home. It is their
``HOME`` as well: bash reads what is there for each command that comes by ssh, and what this machine
has set up in the real one may take longer than the command.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Final

from support.looks import find_program
from support.patience import PATIENCE_S
from support.places import OWN_MOUNTS
from tiltyard.address import Address

_OF_ITS_OWN = 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"'
"""Started by root, sshd insists on an empty directory in /run, which only it shall see."""
_PATH: Final = f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Sshd:
    """A server that accepts one key."""

    far: str
    """As ``ssh`` takes it: user and host."""
    options: list[str]
    """What ``ssh`` needs to get in without a question."""
    home: Path
    """Where commands are executed."""
    pid: int
    """The parent of all sessions."""
    port: int

    @property
    def address(self) -> Address:
        """How it is reached."""
        return Address(self.far, tuple(self.options))

    def listens(self) -> bool:
        """Whether it takes connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S).close()
        except ConnectionError:
            return False
        return True

    @contextmanager
    def mounted(self, target: Path, options: str) -> Iterator[None]:
        """A tmpfs that only those who log in see; needs root."""
        there = ("nsenter", "--mount", f"--target={self.pid}")
        subprocess.run((*there, "mount", "-t", "tmpfs", "-o", options, "tmpfs", target), check=True)
        try:
            yield
        finally:
            subprocess.run((*there, "umount", target), check=True)

    def sessions(self) -> list[int]:
        """The processes that serve one connection each."""
        return children_of(self.pid)

    def processes(self) -> Iterator[int]:
        """They, and all below them: found fast, before what is brief has ended."""
        fresh = [self.pid]
        while fresh:
            with suppress(OSError):
                below = children_of(fresh.pop())
                fresh += below
                yield from below


@contextmanager
def again(server: Sshd) -> Iterator[None]:
    """The same server once more, after it was ended."""
    with _serving(server.home.parent, server.port):
        yield


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[int]:
    """The server whose configuration is in a folder; its process."""
    program = find_program("sshd")
    assert program is not None, "sshd is missing: make setup-dev"
    log = folder / "log"
    argv: tuple[str, ...] = (program, "-D", "-E", str(log), "-f", str(folder / "config"))
    if os.geteuid() == 0:
        argv = (*OWN_MOUNTS, "sh", "-c", _OF_ITS_OWN, "sh", *argv)
    # It is another host: what looks for processes of this one must not find those of the server.
    elsewhere = {name: value for name, value in os.environ.items() if name != "TILTYARD_STATE"}
    with subprocess.Popen(argv, env=elsewhere) as process:
        try:
            _await(port, log)
            yield process.pid
        finally:
            process.terminate()


@contextmanager
def sshd(folder: Path, state: Path | None = None) -> Iterator[Sshd]:
    """Start a server at a free port, and end it.

    Whoever logs in has that state directory, if one is given, and mounts what we see, too.

    It fails, and does not skip, if there is none: ``make setup-dev`` installs it.
    """
    home = folder / "home"
    home.mkdir(parents=True)
    for name in ("host_key", "key"):
        key_pair(folder / name)
    port = free_port()
    (folder / "config").write_text(_config(folder, home, port, state))
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    options = ["-F", "none", "-p", str(port), "-i", str(folder / "key"),
               "-o", f"UserKnownHostsFile={folder / 'known_hosts'}"]  # fmt: skip
    with _serving(folder, port) as pid:
        far = f"{getuser()}@127.0.0.1"
        yield Sshd(far=far, options=options, home=home, pid=pid, port=port)


def _config(folder: Path, home: Path, port: int, state: Path | None) -> str:
    """Nothing of this host's own configuration."""
    inside = f'cd {home} && eval "$SSH_ORIGINAL_COMMAND"'
    if state is not None:
        ours = f"nsenter --mount=/proc/{os.getpid()}/ns/mnt " if os.geteuid() == 0 else ""
        inside = f"export TILTYARD_STATE={state}; exec {ours}sh -c '{inside}'"
    return "\n".join(
        [
            f"Port {port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {folder / 'host_key'}",
            f"AuthorizedKeysFile {folder / 'key.pub'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "KexAlgorithms curve25519-sha256",
            "PasswordAuthentication no",
            f"SetEnv HOME={home} PATH={_PATH}",
            f"ForceCommand {inside}",
            "",
        ]
    )


def children_of(pid: int) -> list[int]:
    """Processes that a process has made and that have not ended."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def key_pair(path: Path) -> None:
    """A key without a passphrase; the public one lies beside it."""
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path), check=True)


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(port: int, log: Path) -> None:
    """Wait until it accepts connections."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.02)
