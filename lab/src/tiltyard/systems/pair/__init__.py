"""Kind ``pair``: two network namespaces of this host, joined by a pair of virtual devices (veth).

Both are made fresh for each turn and removed after it, with all their connections, addresses and
parameters. Nothing but the two ends is in them, so no traffic of the host is on the path, and
their addresses (those that RFC 2544 and RFC 5180 set aside for benchmarks) mean nothing outside.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import FarPlace
from tiltyard.host import sysctls
from tiltyard.host.links import SHORT_NAMES, Link, LinkState, inside, namespace_path, states
from tiltyard.host.op import MakeNetwork, Run
from tiltyard.host.steps import Step, Steps
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.booting import boot_command
from tiltyard.systems.ends import ENDS, End, both
from tiltyard.systems.kind import Kind, Problem, ServerEnd, Site, System, Up
from tiltyard.systems.pair.checks import check_pair
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.systems.parameters import (
    CONGESTION_CONTROL,
    TELLING,
    allow_congestion_control,
    set_on_host,
)
from tiltyard.systems.placement import on_cpus, placement_facts, redraws
from tiltyard.systems.serving import end_of, serve, served
from tiltyard.systems.untrusted_inputs import Brought


def pair_facts(
    settings: PairSettings, states: Mapping[End, LinkState], engine: str
) -> dict[str, str]:
    """The facts of a pair.

    Args:
        settings: as the study has them.
        states: how the device of each end is set.
        engine: version of the engine at the server.
    """

    def each(read: Callable[[LinkState], str]) -> str:
        return both({end: read(states[end]) for end in ENDS})

    keys = [key for key in _told(settings) if key != CONGESTION_CONTROL]
    return {
        "path": "veth between two network namespaces",
        "Internet Protocol": {"ipv4": "IPv4", "ipv6": "IPv6"}[settings.family],
        "MTU": each(lambda state: str(state.mtu)),
        "queueing discipline": each(lambda state: state.qdisc),
        "offloads on": each(lambda state: _offloads(settings, state, on=True)),
        "offloads off": each(lambda state: _offloads(settings, state, on=False)),
        "threaded NAPI": each(lambda state: "on" if state.is_threaded else "off"),
        "congestion control": each(lambda state: state.parameters[CONGESTION_CONTROL]),
        **{key: each(lambda state, key=key: state.parameters[key]) for key in keys},  # type: ignore[misc]
        **placement_facts(settings),
        "engine of the server": engine,
    }


def _told(settings: PairSettings) -> list[str]:
    """Kernel parameters that a reader must know."""
    own = (key for end in ENDS for key in settings.sysctls_of(end))
    return [*dict.fromkeys((CONGESTION_CONTROL, *TELLING, *own))]


def _offloads(settings: PairSettings, state: LinkState, *, on: bool) -> str:
    """The features that are on, or off: those that everybody names, and those that were set."""
    names = dict.fromkeys(
        (*SHORT_NAMES, *settings.offloads_of("client"), *settings.offloads_of("server"))
    )
    full = {name: SHORT_NAMES.get(name, name) for name in names}
    return " ".join(name for name, long in full.items() if state.offloads.get(long) is on) or "none"


_ADDRESSES = {
    "ipv4": {"client": "198.18.0.1", "server": "198.18.0.2"},
    "ipv6": {"client": "2001:2::1", "server": "2001:2::2"},
}
_BITS = {"ipv4": 24, "ipv6": 64}


class Pair(System):
    """A client and a server with nothing else between them."""

    def __init__(self, name: str, settings: PairSettings, site: Site) -> None:
        """Nothing is touched yet."""
        del name
        self._settings = settings
        self._links: dict[End, Link] = {end: Link(site.ledger.name(end), end) for end in ENDS}
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self.place = site.place
        self._site = site
        self.server_end = ServerEnd(
            _ADDRESSES[settings.family]["server"],
            network=self._links["server"].namespace,
            prefix=on_cpus(settings.server_cpus),
            client=self._links["client"].namespace,
        )

    def problems(self) -> list[Problem]:
        """Root, tools, and whatever the kernel would not take."""
        return check_pair(self._settings, self.place)

    def steps_up(self) -> Iterator[Step]:
        """Make both ends, set the path and the parameters, start the server."""
        yield from self._join()
        for end, link in self._links.items():
            yield from self._set_path(end, link)
        yield from self._set_parameters()
        self._server = serve(self._site, self.server_end)
        yield self._server

    def look(self) -> Up:
        """The server, and what the kernel says of both ends.

        Raises:
            TiltyardError: if the kernel did not take what was set.
        """
        found = states(self.place, self._links, _told(self._settings))
        for end in ENDS:
            if not_so := self._not_so(end, found[end]):
                raise TiltyardError(f"{end} end: {not_so}")
        addresses = _ADDRESSES[self._settings.family]
        known = served(self.steps, self._server)
        return Up(
            target=end_of(known, addresses["server"], local=addresses["client"]),
            commands=self.steps.executed,
            facts=pair_facts(self._settings, found, known.engine),
            prefix=inside(self._links["client"].namespace),
            cpus=self._settings.client_cpus,
            far_place=FarPlace(
                address=addresses["server"],
                network=namespace_path(self._links["server"].namespace),
                cpus=self._settings.server_cpus,
            ),
        )

    def steps_refresh(self) -> Iterator[Step]:
        """Have both ends forget what they learned of the path: ip-tcp_metrics(8)."""
        for link in self._links.values():
            yield Run(argv=("ip", "-n", link.namespace, "tcp_metrics", "flush", "all"))

    def _join(self) -> Iterator[Step]:
        """Two namespaces, a device in each, addresses of both families."""
        client, server = (self._links[end] for end in ENDS)
        mtu = str(self._settings.mtu)
        for link in (client, server):
            yield MakeNetwork(name=link.namespace)
        one = (client.device, "netns", client.namespace, "mtu", mtu)
        other = (server.device, "netns", server.namespace, "mtu", mtu)
        yield Run(argv=("ip", "link", "add", *one, "type", "veth", "peer", "name", *other))
        for end, link in self._links.items():
            ip = ("ip", "-n", link.namespace)
            # Without this the kernel sends packets of its own: it looks for routers.
            yield Run(argv=(*ip, "link", "set", link.device, "addrgenmode", "none"))
            for family, address in _ADDRESSES.items():
                words = (f"{address[end]}/{_BITS[family]}", "dev", link.device)
                nodad = ("nodad",) if family == "ipv6" else ()
                yield Run(argv=(*ip, "address", "add", *words, *nodad))
            for device in ("lo", link.device):
                yield Run(argv=(*ip, "link", "set", device, "up"))

    def _set_path(self, end: End, link: Link) -> Iterator[Step]:
        """Features, threads and queueing discipline of a device."""
        if wanted := self._settings.offloads_of(end):
            on_off = [word for name, on in wanted.items() for word in (name, "on" if on else "off")]
            yield Run(argv=(*inside(link.namespace), "ethtool", "-K", link.device, *on_off))
        if self._settings.threaded:
            yield Run(argv=link.set_threaded())
        if words := self._settings.qdisc_of(end):
            change = ("tc", "-n", link.namespace, "qdisc", "replace", "dev", link.device, "root")
            yield Run(argv=(*change, *words))

    def _not_so(self, end: End, state: LinkState) -> str:
        """What the kernel has not made of it as it was set; empty: nothing."""
        settings = self._settings
        if state.mtu != settings.mtu:
            return f"the MTU is {state.mtu}, not {settings.mtu}"
        for name, on in settings.offloads_of(end).items():
            if state.offloads.get(SHORT_NAMES.get(name, name)) is not on:
                return f"{name} stays {'off' if on else 'on'}, whatever ethtool -K says"
        if settings.threaded and not state.is_threaded:
            return "the device does not receive in a thread"
        qdisc = next(iter(settings.qdisc_of(end)), "")
        if qdisc and state.qdisc.partition(" ")[0] != qdisc:
            return f'the queueing discipline is "{state.qdisc}", not {qdisc}'
        for key, value in settings.sysctls_of(end).items():
            if (now := state.parameters[key]) != sysctls.normal(value):
                return f'{key}: the kernel makes "{now}" of "{value}"'
        return ""

    def _set_parameters(self) -> Iterator[Step]:
        """Kernel parameters: in the namespaces where they have them, on the host otherwise."""
        for end in ENDS:
            wanted = self._settings.sysctls_of(end)
            known = sysctls.of_a_namespace(self.place)
            own = {key: value for key, value in wanted.items() if key in known}
            rest = {key: value for key, value in wanted.items() if key not in own}
            if CONGESTION_CONTROL in own:
                yield from allow_congestion_control(own[CONGESTION_CONTROL], self.place)
            yield from set_on_host(rest, self.place)
            if own:
                words = (f"{key}={value}" for key, value in own.items())
                inner = inside(self._links[end].namespace)
                yield Run(argv=(*inner, "sysctl", "-q", "-w", *words))


def _brings(settings: PairSettings, _root: Path) -> Iterator[Brought]:
    """What boots a host, and words for tc that name a file, which it may load."""
    yield from boot_command(settings.reboot_command)
    for end in ENDS:
        yield from untrusted_inputs.paths_among("qdisc", "tc", settings.qdisc_of(end))


KIND = Kind(
    name="pair",
    about="two network namespaces of this host joined by a virtual cable (veth), made fresh for "
    "each turn; needs root",
    Settings=PairSettings,
    target="far",
    open=Pair,
    redraws=lambda settings: redraws(settings, "fresh namespaces and connections"),
    brings=_brings,
)
