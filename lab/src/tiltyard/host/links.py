"""Network devices in a network namespace, as ip(8), tc(8) and ethtool(8) show them."""

import re
from dataclasses import dataclass

from tiltyard.host import commands
from tiltyard.host.changes.network import namespace_path

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
        return int(shown.json[0]["mtu"])

    def qdisc(self) -> str:
        """The queueing discipline at the root, in the words of tc, without its handle."""
        show = ("tc", "-n", self.namespace, "qdisc", "show", "dev", self.device)
        match = _QDISC.search(commands.run(show).stdout)
        return " ".join(f"{match[1]}{match[2]}".split()) if match else "none"

    def is_threaded(self) -> bool:
        """Whether it receives in a kernel thread of its own (NAPI)."""
        return commands.run(self._in_sysfs(f"cat {self._threaded}")).stdout == "1"

    def set_threaded(self) -> tuple[str, ...]:
        """Command that makes it do so."""
        return self._in_sysfs(f"echo 1 > {self._threaded}")

    def offloads(self) -> dict[str, bool]:
        """Every feature that ethtool knows by its full name, and whether it is on."""
        ask = (*inside(self.namespace), "ethtool", "--json", "-k", self.device)
        features = commands.run(ask).json[0]
        return {
            name: bool(state["active"])
            for name, state in features.items()
            if isinstance(state, dict)
        }

    def _in_sysfs(self, line: str) -> tuple[str, ...]:
        """Command that executes a shell's line where ``/sys`` shows the namespace's devices."""
        return ("ip", "netns", "exec", self.namespace, "sh", "-c", line)

    @property
    def _threaded(self) -> str:
        """The file of the setting."""
        return f"/sys/class/net/{self.device}/threaded"


def inside(namespace: str) -> tuple[str, ...]:
    """Command that starts another one in a network namespace, with all else as it is."""
    return ("nsenter", f"--net={namespace_path(namespace)}")
