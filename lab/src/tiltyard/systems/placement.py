"""On which CPUs the two ends of a system run."""

import os
from typing import Annotated

from pydantic import Field

from tiltyard.host.packages import Tool
from tiltyard.systems.kind import Problem, SystemSettings

Cpus = tuple[Annotated[int, Field(ge=0)], ...]

TASKSET = Tool("taskset", "util-linux", ("--version",), "servers cannot be put on CPUs")


class PlacedSettings(SystemSettings):
    """Settings of every kind with two ends."""

    near_cpus: Cpus = Field(
        default=(),
        description="CPUs that the client is pinned to, in order; empty: as the study's "
        "conditions have it.",
    )
    far_cpus: Cpus = Field(
        default=(), description="CPUs that the server may use; empty: all of them."
    )


def on_cpus(cpus: tuple[int, ...]) -> tuple[str, ...]:
    """Command that starts another one on certain CPUs; nothing if any will do."""
    return (TASKSET.command, "--cpu-list", _list(cpus, ",")) if cpus else ()


def placement_facts(settings: PlacedSettings) -> dict[str, str]:
    """Where the ends were put."""
    return {
        "CPUs of the client": _list(settings.near_cpus, ", ") or "as the conditions have it",
        "CPUs of the server": _list(settings.far_cpus, ", ") or "all",
    }


def cpu_problems(*wanted: int) -> list[Problem]:
    """CPUs of this host that are not there, or not for us."""
    allowed = os.sched_getaffinity(0)
    if missing := sorted(set(wanted) - allowed):
        there = _list(tuple(sorted(allowed)), ", ")
        return [Problem("error", f"there is no CPU {missing[0]} to run on", f"one of {there}")]
    return []


def _list(cpus: tuple[int, ...], between: str) -> str:
    """Numbers in a row."""
    return between.join(str(cpu) for cpu in cpus)
