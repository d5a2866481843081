"""Kernel parameters of a system: would they be taken, and setting them on the whole host."""

from collections.abc import Iterator, Mapping

from tiltyard.host import sysctls
from tiltyard.host.packages import Tool, install_command, load_command
from tiltyard.host.place import HERE, Place
from tiltyard.host.settings import SetValue
from tiltyard.host.steps import Step
from tiltyard.study_path import perhaps
from tiltyard.systems.kind import Problem

CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
_ALLOWED = "net.ipv4.tcp_allowed_congestion_control"
_AVAILABLE = "net.ipv4.tcp_available_congestion_control"

SYSCTL = Tool("sysctl", "procps", ("--version",), "kernel parameters cannot be set")

TELLING = (
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.core.busy_read",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
"""What a reader must know of any system of two ends."""


def parameter_problems(parameters: Mapping[str, str], place: Place = HERE) -> list[Problem]:
    """Why the kernel would not take some of them; changes nothing."""
    if not parameters:
        return []
    found = []
    if not place.is_root:
        text = f"only root can set {next(iter(parameters))}"
        found.append(Problem("error", text, "sudo, or a study that leaves it as it is"))
    if not place.has(SYSCTL.command):
        text = f"{SYSCTL.command} is not installed"
        found.append(Problem("error", text, install_command(place, SYSCTL.package)))
    settable = sysctls.settable(place)
    for key in parameters.keys() - settable:
        text = f"there is no {key} that can be set on this kernel"
        found.append(Problem("error", text, perhaps(key, settable).strip() or None))
    if wanted := parameters.get(CONGESTION_CONTROL):
        found += _unknown_congestion_control(wanted, place)
    return found


def set_on_host(parameters: Mapping[str, str], place: Place) -> Iterator[Step]:
    """Set kernel parameters of a whole host."""
    for key, value in parameters.items():
        if key == CONGESTION_CONTROL:
            yield from allow_congestion_control(value, place)
        yield _set(key, sysctls.normal(value), place)


def allow_congestion_control(name: str, place: Place) -> Iterator[Step]:
    """Let every namespace use a congestion control that the kernel has."""
    allowed = sysctls.read(_ALLOWED, place).split()
    if name not in allowed:
        available = sysctls.read(_AVAILABLE, place).split()
        value = " ".join(one for one in available if one in (*allowed, name))
        yield _set(_ALLOWED, value, place)


def _set(key: str, value: str, place: Place) -> SetValue:
    path, before = str(sysctls.path_of(key)), sysctls.read(key, place)
    return SetValue(name=key, path=path, value=value, before=before, address=place.address)


def _unknown_congestion_control(wanted: str, place: Place) -> list[Problem]:
    """A module may hold it, or this kernel has it not at all."""
    available = sysctls.read(_AVAILABLE, place).split()
    if wanted in available:
        return []
    text = f'this kernel has no congestion control "{wanted}"; it has {", ".join(available)}'
    return [Problem("error", text, load_command(place, f"tcp_{wanted}"))]
