"""What the kernel says of a pair that is up, in names that a reader knows."""

from collections.abc import Callable, Mapping

from tiltyard.host import commands, sysctls
from tiltyard.host.links import SHORT_NAMES, Link, inside
from tiltyard.systems.ends import ENDS, End, both
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.systems.parameters import CONGESTION_CONTROL, TELLING
from tiltyard.systems.placement import placement_facts


def pair_facts(settings: PairSettings, links: Mapping[End, Link], engine: str) -> dict[str, str]:
    """The facts of a pair.

    Args:
        settings: as the study has them.
        links: the device of each end.
        engine: version of the engine at the far end.
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
        "engine of the far end": engine,
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
        (*SHORT_NAMES, *settings.offloads_of("near"), *settings.offloads_of("far"))
    )
    full = {name: SHORT_NAMES.get(name, name) for name in names}
    return " ".join(name for name, long in full.items() if state.get(long) is on) or "none"
