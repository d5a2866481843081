"""Numbers of CPUs, as the kernel lists them."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

Cpus = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]
"""CPUs by their numbers, as settings have them."""


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
