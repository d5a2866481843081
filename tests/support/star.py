"""Hosts around a switch: network namespaces on a bridge, each with a link of a known rate.

Programs there are started by a script in the place of ssh; what they say to each other passes
through real sockets and real queues.
"""

import os
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_NET = "10.78.9"
_SSH = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
host=$1
shift
cd {home} && exec ip netns exec {prefix}$host sh -c "$*"
"""
"""Its options are left out."""
ETHERNET = 14
MTU = 1500
SEGMENT = MTU - 20 - 32
"""Bytes that a segment of TCP with timestamps carries."""


@dataclass(frozen=True)
class Star:
    """The hosts, by the names that the script knows."""

    prefix: str
    addresses: dict[str, str]
    programs: Path
    """A directory with the script, for PATH."""
    home: Path
    """Where whoever logs in finds themselves."""

    def inside(self, host: str) -> tuple[str, ...]:
        """Command that starts another one in the network of a host, with the mounts of this one."""
        return ("nsenter", f"--net=/run/netns/{self.prefix}{host}")


@contextmanager
def star(
    folder: Path,
    hosts: Sequence[str],
    bits_per_s: dict[str, int],
    joined: tuple[str, str] = ("", ""),
) -> Iterator[Star]:
    """Make them, and remove them with all that runs there.

    Args:
        folder: for the script and the home.
        hosts: their names.
        bits_per_s: of the links of those that have a limit, Ethernet's headers included, for each
            direction.
        joined: a bridge that is there, and the beginning of its addresses; else one is made.
    """
    mark = secrets.token_hex(2)
    prefix, own = f"ty-star-{mark}-", f"tystar{mark}"
    bridge, net = joined if all(joined) else (own, _NET)
    home, programs = folder / "home", folder / "programs"
    for path in (home, programs):
        path.mkdir(parents=True)
    (programs / "ssh").write_text(_SSH.format(home=home, prefix=prefix))
    (programs / "ssh").chmod(0o755)
    addresses = {host: f"{net}.{number}" for number, host in enumerate(hosts, 101)}
    try:
        if bridge == own:
            _run(f"ip link add {own} type bridge", f"ip addr add {net}.254/24 dev {own}")
            _run(f"ip link set {own} up")
        for number, (host, address) in enumerate(addresses.items()):
            there, port = prefix + host, f"tyst{mark}{number}"
            _run(
                f"ip netns add {there}",
                f"ip link add {port} type veth peer name eth0 netns {there}",
                f"ip link set {port} master {bridge} up",
                f"ip -n {there} addr add {address}/24 dev eth0",
                f"ip -n {there} link set eth0 up",
                f"ip -n {there} link set lo up",
            )
            if rate := bits_per_s.get(host):
                bucket = f"root tbf rate {rate}bit burst 16k latency 50ms"
                _run(f"tc qdisc add dev {port} {bucket}")
                _run(f"tc -n {there} qdisc add dev eth0 {bucket}")
        yield Star(prefix, addresses, programs, home)
    finally:
        for host in hosts:
            there = prefix + host
            if Path("/run/netns", there).exists():
                for pid in subprocess.check_output(("ip", "netns", "pids", there)).split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), 9)
                _run(f"ip netns del {there}")
        if Path("/sys/class/net", own).exists():
            _run(f"ip link del {own}")


def _run(*lines: str) -> None:
    for line in lines:
        subprocess.run(line.split(), check=True, capture_output=True)
