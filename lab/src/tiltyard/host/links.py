"""Network devices in a network namespace, as ip(8), tc(8) and ethtool(8) show them. Only reads."""

import json
import re
from dataclasses import dataclass

from tiltyard.host import commands
from tiltyard.host.network_changes import namespace_path

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


@dataclass(frozen=True)
class Link:
    """A device in a namespace."""

    namespace: str
    device: str

    def mtu(self) -> int:
        """Largest packet, in bytes."""
        shown = commands.run(("ip", "-n", self.namespace, "-j", "link", "show", self.device))
        return int(json.loads(shown.stdout)[0]["mtu"])

    def qdisc(self) -> str:
        """The queueing discipline at the root, in the words of tc, without its handle."""
        show = ("tc", "-n", self.namespace, "qdisc", "show", "dev", self.device)
        match = _QDISC.search(commands.run(show).stdout)
        return " ".join(f"{match[1]}{match[2]}".split()) if match else "none"

    def offloads(self) -> dict[str, bool]:
        """Every feature that ethtool knows by its full name, and whether it is on."""
        ask = (*inside(self.namespace), "ethtool", "--json", "-k", self.device)
        features = json.loads(commands.run(ask).stdout)[0]
        return {
            name: bool(state["active"])
            for name, state in features.items()
            if isinstance(state, dict)
        }


def inside(namespace: str) -> tuple[str, ...]:
    """Command that starts another one in a network namespace, with all else as it is."""
    return ("nsenter", f"--net={namespace_path(namespace)}")
