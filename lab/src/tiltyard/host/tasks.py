"""Tasks of the host, as ``/proc`` shows them: proc(5)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tiltyard.host.processes import KERNEL_THREAD

_PROC = Path("/proc")

Cpus = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]
"""CPUs by their numbers, as settings have them."""


@dataclass(frozen=True)
class Task:
    """One thread."""

    tid: int
    pid: int
    parent: int
    """The process that started its process."""
    is_kernel: bool
    cpus: str
    """Where it may run: ``0-3,8``."""


def tasks() -> Iterator[Task]:
    """All that are there now; those that have ended, or end meanwhile, are left out."""
    for process in _PROC.iterdir():
        if process.name.isdigit():
            for thread in _listed(process / "task"):
                if (task := _task(thread, int(process.name))) is not None:
                    yield task


def parse_cpus(text: str) -> Iterator[int]:
    """The numbers of a list as the kernel writes it: ``0-3,8``."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as the kernel lists them: ``0-1,4``."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def _listed(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _task(thread: Path, pid: int) -> Task | None:
    try:
        stat = (thread / "stat").read_text().rpartition(")")[2].split()
        status = (thread / "status").read_text()
    except OSError:
        return None
    if stat[0] in "ZX":
        return None
    allowed = next(
        (line for line in status.splitlines() if line.startswith("Cpus_allowed_list:")), ""
    )
    return Task(
        tid=int(thread.name),
        pid=pid,
        parent=int(stat[1]),
        is_kernel=bool(int(stat[6]) & KERNEL_THREAD),
        cpus=allowed.partition(":")[2].strip(),
    )
