"""What would keep a pair from coming up here, or from being set as a study wants it.

What the kernel takes is tried in a network namespace that is gone again when the trying ends, so
nothing changes on the host.
"""

from tiltyard.errors import TiltyardError
from tiltyard.host import sysctls
from tiltyard.host.links import SHORT_NAMES
from tiltyard.host.packages import Tool, install_command, load_command
from tiltyard.host.place import Place
from tiltyard.study_path import perhaps
from tiltyard.systems.ends import ENDS
from tiltyard.systems.kind import Problem
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.systems.parameters import SYSCTL, parameter_problems
from tiltyard.systems.placement import cpu_problems

_WITHOUT = "pairs of network namespaces cannot be made"
TOOLS = (
    Tool("ip", "iproute2", ("-V",), _WITHOUT),
    Tool("tc", "iproute2", ("-V",), _WITHOUT),
    Tool("ethtool", "ethtool", ("--version",), _WITHOUT),
    SYSCTL,
)
"""Programs that a pair needs beside those that every Linux has."""

_TRY = ("unshare", "--net")


def check_pair(settings: PairSettings, place: Place) -> list[Problem]:
    """Everything that can be seen beforehand, without changing anything."""
    if not place.is_root:
        remedy = 'sudo; or kind = "loopback"; or namespaces of your own (guide "Without root")'
        return [Problem("error", "only root can make network namespaces", remedy)]
    if lacking := [tool for tool in TOOLS if not place.has(tool.command)]:
        fixes = {tool.command: install_command(place, tool.package) for tool in lacking}
        return [Problem("error", f"{name} is not installed", fix) for name, fix in fixes.items()]
    veth = ("ip", "link", "add", "client", "type", "veth", "peer", "name", "server")
    if refused := _refusal(veth, place):
        text = f"this kernel makes no veth devices: {refused}"
        return [Problem("error", text, load_command(place, "veth"))]
    return [
        *_qdisc_problems(settings, place),
        *_offload_problems(settings, place),
        *_parameter_problems(settings, place),
        *cpu_problems(*settings.client_cpus, *settings.server_cpus, place=place),
    ]


def _refusal(argv: tuple[str, ...], place: Place) -> str:
    """Why a command would fail; empty if it would not."""
    try:
        place.run((*_TRY, *argv))
    except TiltyardError as error:
        return str(error).partition(": ")[2].removeprefix("Error: ").rstrip(".")
    return ""


def _qdisc_problems(settings: PairSettings, place: Place) -> list[Problem]:
    """Queueing disciplines that the kernel or tc does not take."""
    found = []
    for words in dict.fromkeys(settings.qdisc_of(end) for end in ENDS):
        setup = ("tc", "qdisc", "add", "dev", "lo", "root", *words)
        if words and (refused := _refusal(setup, place)):
            text = f'the queueing discipline "{" ".join(words)}" is not taken: {refused}'
            unknown = "unknown" in refused.lower()
            remedy = load_command(place, f"sch_{words[0]}") if unknown else f"man tc-{words[0]}"
            found.append(Problem("error", text, remedy))
    return found


def _offload_problems(settings: PairSettings, place: Place) -> list[Problem]:
    """Features that nobody knows; those that a veth device cannot change, only it can tell."""
    wanted = {**settings.offloads_of("client"), **settings.offloads_of("server")}
    if not wanted:
        return []
    listed = place.run((*_TRY, "ethtool", "--json", "-k", "lo"))
    with place.understood():
        known = [*SHORT_NAMES, *listed.json[0]]
    return [
        Problem("error", f'there is no offload "{name}"', perhaps(name, known).strip() or None)
        for name in wanted
        if name not in known
    ]


def _parameter_problems(settings: PairSettings, place: Place) -> list[Problem]:
    """Kernel parameters that cannot be set, or not for each end on its own."""
    client, server = (settings.sysctls_of(end) for end in ENDS)
    found = parameter_problems({**server, **client}, place)
    for key in client.keys() & server.keys() - sysctls.of_a_namespace(place):
        if sysctls.normal(client[key]) != sysctls.normal(server[key]):
            text = f"{key} holds for the whole host, so both ends have the same"
            found.append(Problem("error", text, "set it outside client and server"))
    return found
