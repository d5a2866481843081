"""Network devices in network namespaces, as ip(8), tc(8) and ethtool(8) show them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from tiltyard.errors import TiltyardError
from tiltyard.host import sysctls
from tiltyard.host.facts import ABSENT
from tiltyard.host.place import Place

E = TypeVar("E")
_NAMESPACES: Final = Path("/run/netns")
_QDISC = re.compile(r"^qdisc (\S+) \S+ root(?: refcnt \d+)?(.*)$", re.MULTILINE)

SHORT_NAMES = {
    "rx": "rx-checksumming",
    "tx": "tx-checksumming",
    "sg": "scatter-gather",
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}
"""Features as people call them, and in full."""


def namespace_path(name: str) -> Path:
    """Where ip-netns(8) keeps a network namespace."""
    return _NAMESPACES / name


def inside(namespace: str) -> tuple[str, ...]:
    """Command that starts another one in a network namespace, with all else as it is."""
    return ("nsenter", f"--net={namespace_path(namespace)}")


@dataclass(frozen=True)
class Link:
    """A device in a namespace."""

    namespace: str
    device: str

    def set_threaded(self) -> tuple[str, ...]:
        """Command that makes it receive in a kernel thread of its own (NAPI)."""
        # A shell, because ``/sys`` shows the namespace's devices to what is executed in it.
        return (*self._executed, "sh", "-c", f"echo 1 > {self._threaded}")

    @property
    def _executed(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.namespace)

    @property
    def _threaded(self) -> str:
        """The file of the setting."""
        return f"/sys/class/net/{self.device}/threaded"

    def asks(self) -> tuple[tuple[str, ...], ...]:
        """Commands that tell how it is set, in the order in which :class:`LinkState` has it."""
        return (
            ("ip", "-n", self.namespace, "-j", "link", "show", self.device),
            ("tc", "-n", self.namespace, "qdisc", "show", "dev", self.device),
            (*inside(self.namespace), "ethtool", "--json", "-k", self.device),
            (*self._executed, "cat", self._threaded),
        )


@dataclass(frozen=True)
class LinkState:
    """How a device is set, and the kernel parameters of its namespace."""

    mtu: int
    """Largest packet, in bytes."""
    qdisc: str
    """The queueing discipline at the root, in the words of tc, without its handle."""
    offloads: Mapping[str, bool]
    """Every feature that ethtool knows by its full name, and whether it is on."""
    is_threaded: bool
    """Whether it receives in a kernel thread of its own (NAPI)."""
    parameters: Mapping[str, str]


def states(place: Place, links: Mapping[E, Link], keys: Sequence[str]) -> Mapping[E, LinkState]:
    """How devices are set, in one request.

    Args:
        place: where they are.
        links: those that are looked at.
        keys: kernel parameters; those that a namespace does not have are told as the host has them.

    Raises:
        TiltyardError: if a command that tells it fails.
    """
    own = [key for key in keys if key in sysctls.of_a_namespace(place)]
    files = {str(sysctls.path_of(key)): key for key in keys if key not in own}
    asked = [
        argv
        for link in links.values()
        for argv in (*link.asks(), (*inside(link.namespace), "sysctl", "-n", *own))
    ]
    found = place.ask(lambda host: host.read(files=files, outputs=asked))
    for output in found.outputs:
        if output.status != 0:
            raise TiltyardError(f"{' '.join(output.argv)}: {output.stderr.strip()}")
    of_host = {key: sysctls.normal(found.files.get(path, ABSENT)) for path, key in files.items()}
    told, said = {}, iter(found.outputs)
    with place.understood():
        for end in links:
            device, qdisc, features, threaded, values = (next(said).stdout for _ in range(5))
            parameters = dict(zip(own, map(sysctls.normal, values.splitlines()), strict=True))
            told[end] = LinkState(
                mtu=int(json.loads(device)[0]["mtu"]),
                qdisc=_qdisc(qdisc),
                offloads=_offloads(features),
                is_threaded=threaded.strip() == "1",
                parameters={**of_host, **parameters},
            )
    return told


def _qdisc(shown: str) -> str:
    match = _QDISC.search(shown)
    return " ".join(f"{match[1]}{match[2]}".split()) if match else "none"


def _offloads(shown: str) -> dict[str, bool]:
    features = json.loads(shown)[0].items()
    return {name: bool(state["active"]) for name, state in features if isinstance(state, dict)}
