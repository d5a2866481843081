"""Kind ``pair``: two network namespaces of this host, joined by a pair of virtual devices (veth).

Both are made fresh for each turn and removed after it, with all their connections, addresses and
parameters. Nothing but the two ends is in them, so no traffic of the host is on the path, and
their addresses (those that RFC 2544 and RFC 5180 set aside for benchmarks) mean nothing outside.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import FarPlace
from tiltyard.host import commands, sysctls
from tiltyard.host.changes.network import MadeNamespace, namespace_path
from tiltyard.host.links import SHORT_NAMES, Link, inside
from tiltyard.host.op import Run
from tiltyard.host.steps import ChangeByCommand, Step, Steps
from tiltyard.systems import brought
from tiltyard.systems.booting import boot_command
from tiltyard.systems.brought import Brought
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


def pair_facts(settings: PairSettings, links: Mapping[End, Link], engine: str) -> dict[str, str]:
    """The facts of a pair.

    Args:
        settings: as the study has them.
        links: the device of each end.
        engine: version of the engine at the server.
    """

    def each(read: Callable[[Link], str]) -> str:
        return both({end: read(links[end]) for end in ENDS})

    keys = list(dict.fromkeys(key for end in ENDS for key in settings.sysctls_of(end)))
    told = [*TELLING, *(key for key in keys if key not in (*TELLING, CONGESTION_CONTROL))]
    parameters = {end: _parameters(links[end], (CONGESTION_CONTROL, *told)) for end in ENDS}
    return {
        "path": "veth between two network namespaces",
        "Internet Protocol": {"ipv4": "IPv4", "ipv6": "IPv6"}[settings.family],
        "MTU": each(lambda link: str(link.mtu())),
        "queueing discipline": each(lambda link: link.qdisc()),
        "offloads on": each(lambda link: _offloads(settings, link, on=True)),
        "offloads off": each(lambda link: _offloads(settings, link, on=False)),
        "threaded NAPI": each(lambda link: "on" if link.is_threaded() else "off"),
        "congestion control": both({end: parameters[end][CONGESTION_CONTROL] for end in ENDS}),
        **{key: both({end: parameters[end][key] for end in ENDS}) for key in told},
        **placement_facts(settings),
        "engine of the server": engine,
    }


def _parameters(link: Link, keys: tuple[str, ...]) -> dict[str, str]:
    """Kernel parameters as an end sees them; those of the whole host as they are there."""
    own = [key for key in keys if key in sysctls.of_a_namespace()]
    shown = commands.run((*inside(link.namespace), "sysctl", "-n", *own)).stdout.splitlines()
    values = dict(zip(own, map(sysctls.normal, shown), strict=True))
    return {key: values[key] if key in values else sysctls.shown(key) for key in keys}


def _offloads(settings: PairSettings, link: Link, *, on: bool) -> str:
    """The features that are on, or off: those that everybody names, and those that were set."""
    state = link.offloads()
    names = dict.fromkeys(
        (*SHORT_NAMES, *settings.offloads_of("client"), *settings.offloads_of("server"))
    )
    full = {name: SHORT_NAMES.get(name, name) for name in names}
    return " ".join(name for name, long in full.items() if state.get(long) is on) or "none"


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
        self.steps = Steps(site.ledger, site.check)
        self._site = site
        self.server_end = ServerEnd(
            _ADDRESSES[settings.family]["server"],
            network=self._links["server"].namespace,
            prefix=on_cpus(settings.server_cpus),
            client=self._links["client"].namespace,
        )

    def problems(self) -> list[Problem]:
        """Root, tools, and whatever the kernel would not take."""
        return check_pair(self._settings)

    def steps_up(self) -> Iterator[Step]:
        """Make both ends, set the path and the parameters, start the server."""
        yield from self._join()
        for end, link in self._links.items():
            yield from self._set_path(end, link)
            yield self._check(end, link)
        yield from self._set_parameters()
        self._server = serve(self._site, self.server_end)
        yield self._server

    def look(self) -> Up:
        """The server, and what the kernel says of both ends."""
        addresses = _ADDRESSES[self._settings.family]
        known = served(self.steps, self._server)
        return Up(
            target=end_of(known, addresses["server"], local=addresses["client"]),
            commands=self.steps.executed,
            facts=pair_facts(self._settings, self._links, known.engine),
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
            made = MadeNamespace(name=link.namespace)
            yield ChangeByCommand(argv=("ip", "netns", "add", link.namespace), change=made)
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

    def _check(self, end: End, link: Link) -> "CheckLink":
        """What the kernel must have made of it."""
        settings = self._settings
        return CheckLink(
            end=end,
            namespace=link.namespace,
            device=link.device,
            mtu=settings.mtu,
            offloads=settings.offloads_of(end),
            threaded=settings.threaded,
            qdisc=next(iter(settings.qdisc_of(end)), ""),
        )

    def _set_parameters(self) -> Iterator[Step]:
        """Kernel parameters: in the namespaces where they have them, on the host otherwise."""
        for end in ENDS:
            wanted = self._settings.sysctls_of(end)
            own = {key: value for key, value in wanted.items() if key in sysctls.of_a_namespace()}
            rest = {key: value for key, value in wanted.items() if key not in own}
            if CONGESTION_CONTROL in own:
                yield from allow_congestion_control(own[CONGESTION_CONTROL])
            yield from set_on_host(rest)
            if own:
                namespace = self._links[end].namespace
                yield SetInNamespace(end=end, namespace=namespace, parameters=own)


class CheckLink(Step):
    """Whether the kernel took what was set of a device."""

    kind: Literal["check-link"] = "check-link"
    end: End
    namespace: str
    device: str
    mtu: int
    offloads: dict[str, bool]
    threaded: bool
    qdisc: str
    """Kind of its queueing discipline; empty: any."""

    @property
    def line(self) -> str:
        """In words."""
        return f"# make sure that {self.device} in {self.namespace} is set so"

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it only looks
        """Look.

        Raises:
            TiltyardError: if it is not.
        """
        link = Link(self.namespace, self.device)
        if link.mtu() != self.mtu:
            raise TiltyardError(f"{self.end} end: the MTU is {link.mtu()}, not {self.mtu}")
        features = link.offloads() if self.offloads else {}
        for name, on in self.offloads.items():
            if features.get(SHORT_NAMES.get(name, name)) is not on:
                state = "off" if on else "on"
                text = f"{name} stays {state}, whatever ethtool -K says"
                raise TiltyardError(f"{self.end} end: {text}")
        if self.threaded and not link.is_threaded():
            raise TiltyardError(f"{self.end} end: the device does not receive in a thread")
        if self.qdisc and (there := link.qdisc()).partition(" ")[0] != self.qdisc:
            text = f'the queueing discipline is "{there}", not {self.qdisc}'
            raise TiltyardError(f"{self.end} end: {text}")
        return ""


class SetInNamespace(Step):
    """Kernel parameters of a network namespace, verified."""

    kind: Literal["set-in-namespace"] = "set-in-namespace"
    end: End
    namespace: str
    parameters: dict[str, str]

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self._argv)

    @property
    def _argv(self) -> tuple[str, ...]:
        assignments = (f"{key}={value}" for key, value in self.parameters.items())
        return (*inside(self.namespace), "sysctl", "-q", "-w", *assignments)

    def execute(self, host: Steps) -> str:
        """Set them.

        Raises:
            TiltyardError: if one is not taken.
        """
        host.run(self._argv)
        ask = (*inside(self.namespace), "sysctl", "-n", *self.parameters)
        lines = commands.run(ask).stdout.splitlines()
        for (key, value), now in zip(self.parameters.items(), lines, strict=True):
            if sysctls.normal(now) != sysctls.normal(value):
                text = f'{key}: the kernel makes "{now}" of "{value}"'
                raise TiltyardError(f"{self.end} end: {text}")
        return ""


def _brings(settings: PairSettings, _root: Path) -> Iterator[Brought]:
    """What boots a host, and words for tc that name a file, which it may load."""
    yield from boot_command(settings.reboot_command)
    for end in ENDS:
        yield from brought.paths_among("qdisc", "tc", settings.qdisc_of(end))


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
