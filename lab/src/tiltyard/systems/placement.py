"""On which CPUs the two ends of a system run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from tiltyard.host.cpus import Cpus
from tiltyard.host.packages import Tool
from tiltyard.host.place import HERE, Place
from tiltyard.host.resumption import BOOT_COMMAND
from tiltyard.systems.booting import BootCommand, boot_command
from tiltyard.systems.kind import Problem, SystemSettings
from tiltyard.systems.untrusted_inputs import Brought

TASKSET = Tool("taskset", "util-linux", ("--version",), "servers cannot be put on CPUs")


class PlacedSettings(SystemSettings):
    """Settings of every kind with two ends."""

    client_cpus: Cpus = Field(
        default=(),
        description="CPUs that the client is pinned to, in order; empty: as the study's "
        "conditions have it.",
    )
    server_cpus: Cpus = Field(
        default=(), description="CPUs that the server may use; empty: all of them."
    )

    reset: Literal["none", "reboot"] = Field(
        default="none",
        description="What happens before each turn: nothing, or a boot of the host; of kind hosts "
        "see reboots.",
    )
    reboot_command: BootCommand = BOOT_COMMAND


def brings(settings: PlacedSettings, _root: Path) -> Iterator[Brought]:
    """What boots a host."""
    yield from boot_command(settings.reboot_command)


def redraws(settings: PlacedSettings, what: str) -> str:
    """What each turn makes again, beside a boot."""
    return f"a boot and {what}" if settings.reset == "reboot" else what


def pinned_cpus(settings: Mapping[str, object]) -> set[int]:
    """CPUs that a system's settings put its two ends on; none of a system of one end."""
    lists = (settings.get(key) for key in ("client_cpus", "server_cpus"))
    return {cpu for cpus in lists if isinstance(cpus, list | tuple) for cpu in cpus}


def on_cpus(cpus: tuple[int, ...]) -> tuple[str, ...]:
    """Command that starts another one on certain CPUs; nothing if any will do."""
    return (TASKSET.command, "--cpu-list", _list(cpus, ",")) if cpus else ()


def placement_facts(settings: PlacedSettings) -> dict[str, str]:
    """Where the ends were put."""
    return {
        "CPUs of the client": _list(settings.client_cpus, ", ") or "as the conditions have it",
        "CPUs of the server": _list(settings.server_cpus, ", ") or "all",
    }


def cpu_problems(*wanted: int, place: Place = HERE) -> list[Problem]:
    """CPUs of a host that are not there, or not for us."""
    allowed = place.cpus
    if missing := sorted(set(wanted) - allowed):
        there = _list(tuple(sorted(allowed)), ", ")
        return [Problem("error", f"there is no CPU {missing[0]} to run on", f"one of {there}")]
    return []


def _list(cpus: tuple[int, ...], between: str) -> str:
    """Numbers in a row."""
    return between.join(str(cpu) for cpu in cpus)
