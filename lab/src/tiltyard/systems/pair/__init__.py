"""Kind ``pair``: two network namespaces of this host, joined by a pair of virtual devices (veth).

Both are made fresh for each turn and removed after it, with all their connections, addresses and
parameters. Nothing but the two ends is in them, so no traffic of the host is on the path, and
their addresses (those that RFC 2544 and RFC 5180 set aside for benchmarks) mean nothing outside.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.host import commands, sysctls
from tiltyard.host.changes.network import MadeNamespace
from tiltyard.host.links import SHORT_NAMES, Link, inside
from tiltyard.host.steps import Steps
from tiltyard.systems import brought
from tiltyard.systems.brought import Brought
from tiltyard.systems.ends import ENDS, End
from tiltyard.systems.kind import Kind, Problem, Site, System, Up
from tiltyard.systems.pair.checks import check_pair
from tiltyard.systems.pair.facts import pair_facts
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.systems.parameters import CONGESTION_CONTROL, allow_congestion_control, set_on_host
from tiltyard.systems.placement import on_cpus
from tiltyard.systems.serving import Serving

_ADDRESSES = {
    "ipv4": {"near": "198.18.0.1", "far": "198.18.0.2"},
    "ipv6": {"near": "2001:2::1", "far": "2001:2::2"},
}
_BITS = {"ipv4": 24, "ipv6": 64}


class Pair(System):
    """A near end and a far end with nothing else between them."""

    def __init__(self, name: str, settings: PairSettings, site: Site) -> None:
        """Nothing is touched yet."""
        del name
        self._settings = settings
        self._links: dict[End, Link] = {end: Link(site.ledger.name(end), end) for end in ENDS}
        self._steps = Steps(site.ledger, site.check)
        self._serving = Serving(site, self._steps)

    def problems(self) -> list[Problem]:
        """Root, tools, and whatever the kernel would not take."""
        return check_pair(self._settings)

    def bring_up(self) -> Up:
        """Make both ends, set the path and the parameters, start the far end."""
        settings = self._settings
        far, near = self._links["far"], self._links["near"]
        try:
            self._join()
            for end in ENDS:
                self._set_offloads(end)
                self._set_threaded(end)
                self._set_qdisc(end)
            self._set_parameters()
            addresses = _ADDRESSES[settings.family]
            target = self._serving.begin(
                addresses["far"],
                prefix=(*inside(far.namespace), *on_cpus(settings.far_cpus)),
                local=addresses["near"],
            )
            return Up(
                target=target,
                commands=self._steps.executed,
                facts=pair_facts(settings, self._links, self._serving.version),
                prefix=inside(near.namespace),
                cpus=settings.near_cpus,
            )
        except BaseException:
            self.take_down()
            raise

    def refresh(self) -> None:
        """Have both ends forget what they learned of the path: ip-tcp_metrics(8)."""
        for link in self._links.values():
            self._steps.run(("ip", "-n", link.namespace, "tcp_metrics", "flush", "all"))

    def take_down(self) -> None:
        """End the far end, remove both ends, put back what was set on the host."""
        self._serving.end()
        self._steps.undo()

    def _join(self) -> None:
        """Two namespaces, a device in each, addresses of both families."""
        near, far = (self._links[end] for end in ENDS)
        mtu = str(self._settings.mtu)
        for link in (near, far):
            self._steps.record(MadeNamespace(name=link.namespace))
            self._steps.run(("ip", "netns", "add", link.namespace))
        one = (near.device, "netns", near.namespace, "mtu", mtu)
        other = (far.device, "netns", far.namespace, "mtu", mtu)
        self._steps.run(("ip", "link", "add", *one, "type", "veth", "peer", "name", *other))
        for end, link in self._links.items():
            ip = ("ip", "-n", link.namespace)
            # Without this the kernel sends packets of its own: it looks for routers.
            self._steps.run((*ip, "link", "set", link.device, "addrgenmode", "none"))
            for family, address in _ADDRESSES.items():
                own = (f"{address[end]}/{_BITS[family]}", "dev", link.device)
                nodad = ("nodad",) if family == "ipv6" else ()
                self._steps.run((*ip, "address", "add", *own, *nodad))
            for device in ("lo", link.device):
                self._steps.run((*ip, "link", "set", device, "up"))
            if link.mtu() != self._settings.mtu:
                raise TiltyardError(f"{end} end: the MTU is {link.mtu()}, not {mtu}")

    def _set_offloads(self, end: End) -> None:
        """Set features, and verify that the kernel took them."""
        wanted = self._settings.offloads_of(end)
        if not wanted:
            return
        link = self._links[end]
        words = [word for name, on in wanted.items() for word in (name, "on" if on else "off")]
        self._steps.run((*inside(link.namespace), "ethtool", "-K", link.device, *words))
        found = link.offloads()
        for name, on in wanted.items():
            if found.get(SHORT_NAMES.get(name, name)) is not on:
                state = "off" if on else "on"
                raise TiltyardError(f"{end} end: {name} stays {state}, whatever ethtool -K says")

    def _set_threaded(self, end: End) -> None:
        """Have a device receive in a kernel thread, and verify that it does."""
        link = self._links[end]
        if self._settings.threaded:
            self._steps.run(link.set_threaded())
            if not link.is_threaded():
                raise TiltyardError(f"{end} end: the device does not receive in a thread")

    def _set_qdisc(self, end: End) -> None:
        """Set a queueing discipline, and verify that it is the one in force."""
        words = self._settings.qdisc_of(end)
        if not words:
            return
        link = self._links[end]
        change = ("tc", "-n", link.namespace, "qdisc", "replace", "dev", link.device, "root")
        self._steps.run((*change, *words))
        if (found := link.qdisc()).partition(" ")[0] != words[0]:
            raise TiltyardError(f'{end} end: the queueing discipline is "{found}", not {words[0]}')

    def _set_parameters(self) -> None:
        """Kernel parameters: in the namespaces where they have them, on the host otherwise."""
        for end in ENDS:
            wanted = self._settings.sysctls_of(end)
            own = {key: value for key, value in wanted.items() if key in sysctls.of_a_namespace()}
            rest = {key: value for key, value in wanted.items() if key not in own}
            if CONGESTION_CONTROL in own:
                allow_congestion_control(self._steps, own[CONGESTION_CONTROL])
            set_on_host(self._steps, rest)
            self._set_in_namespace(end, own)

    def _set_in_namespace(self, end: End, parameters: dict[str, str]) -> None:
        """Set them, and verify that they were taken."""
        if not parameters:
            return
        enter = inside(self._links[end].namespace)
        assignments = [f"{key}={value}" for key, value in parameters.items()]
        self._steps.run((*enter, "sysctl", "-q", "-w", *assignments))
        found = commands.run((*enter, "sysctl", "-n", *parameters)).stdout.splitlines()
        for (key, value), now in zip(parameters.items(), found, strict=True):
            if sysctls.normal(now) != sysctls.normal(value):
                raise TiltyardError(f'{end} end: {key}: the kernel makes "{now}" of "{value}"')


def _brings(settings: PairSettings, _root: Path) -> Iterator[Brought]:
    """Words for tc that name a file, which it may load."""
    for end in ENDS:
        yield from brought.paths_among("qdisc", "tc", settings.qdisc_of(end))


KIND = Kind(
    name="pair",
    about="two network namespaces of this host joined by a virtual cable (veth), made fresh for "
    "each turn; needs root",
    Settings=PairSettings,
    target="far",
    open=Pair,
    redraws=lambda _: "fresh namespaces and connections",
    brings=_brings,
)
