"""The paths between two ends: loopback, and two namespaces joined by a veth pair."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from ..processes import Words

NEAR_ADDRESS = "10.213.7.1"
FAR_ADDRESS = "10.213.7.2"


@dataclass(frozen=True)
class Rig:
    """Where both ends are, and on which CPU each.

    Attributes:
        name: as the table shows it.
        address: of the server.
        client_cpus: CPUs of the client, as taskset takes them.
        server_cpus: CPUs of the server.
        near_prefix: command that the client is started by.
        far_prefix: command that the server is started by.
    """

    name: str
    address: str
    client_cpus: str
    server_cpus: str
    near_prefix: tuple[str, ...] = ()
    far_prefix: tuple[str, ...] = ()

    def near(self, argv: Words) -> Words:
        """A command line at the client."""
        return (*self.near_prefix, "taskset", "-c", self.client_cpus, *argv)

    def far(self, argv: Words) -> Words:
        """A command line at the server."""
        return (*self.far_prefix, "taskset", "-c", self.server_cpus, *argv)

    def on_one_cpu(self) -> "Rig":
        """Both ends on the client's CPU: no wake-up crosses from one to another."""
        return replace(self, name="one CPU", server_cpus=self.client_cpus)

    def on(self, cpus: str) -> "Rig":
        """Both ends on the same CPUs."""
        return replace(self, client_cpus=cpus, server_cpus=cpus)


def two_cpus() -> tuple[str, str]:
    """The first that this process may use, and the last."""
    allowed = sorted(os.sched_getaffinity(0))
    return str(allowed[0]), str(allowed[-1])


def loopback() -> Rig:
    """Both ends in the namespace of this process."""
    return Rig("loopback", "127.0.0.1", *two_cpus())


@contextmanager
def namespaces() -> Iterator[Rig]:
    """Two network namespaces joined by a veth pair; removed at the end. Needs root."""
    near, far = (f"tt-{os.getpid()}-{end}" for end in ("near", "far"))
    with ExitStack() as made:
        for name in (near, far):
            _ip("netns", "add", name)
            made.callback(_ip, "netns", "delete", name)
        _ip("-netns", near, "link", "add", "veth0", "type", "veth", "peer", "veth0", "netns", far)
        for name, address in ((near, NEAR_ADDRESS), (far, FAR_ADDRESS)):
            _ip("-netns", name, "address", "add", f"{address}/30", "dev", "veth0")
            _ip("-netns", name, "link", "set", "veth0", "up")
        prefixes = (("ip", "netns", "exec", near), ("ip", "netns", "exec", far))
        yield Rig("namespaces", FAR_ADDRESS, *two_cpus(), *prefixes)


def _ip(*words: str) -> None:
    """One command of iproute2.

    Raises:
        RuntimeError: with what it says.
    """
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def free_port() -> str:
    """A port that nobody has now; namespaces that were just made have all of them free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
