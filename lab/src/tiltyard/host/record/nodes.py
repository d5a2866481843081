"""NUMA nodes: which CPUs and how much memory each has, and how far they are from each other."""

import re

from tiltyard.host.record.section import ABSENT, Section, Seen
from tiltyard.units import format_size

_NODE = "/sys/devices/system/node"
_MEMORY = "memory of each node"
_TOTAL = re.compile(r"MemTotal:\s+(\d+) kB")


def _tell(seen: Seen) -> dict[str, str]:
    found, sizes = {"nodes": seen.file(f"{_NODE}/online")}, []
    for path, cpus in seen.files.items():
        if path.startswith(_NODE) and path.endswith("/cpulist"):
            node = path.split("/")[-2]
            total = _TOTAL.search(seen.files.get(f"{_NODE}/{node}/meminfo", ""))
            sizes.append(f"{node} {format_size(int(total[1]) * 1024) if total else ABSENT}")
            found[node] = f"CPUs {cpus}, distances {seen.file(f'{_NODE}/{node}/distance')}"
    return {**found, _MEMORY: ", ".join(sizes) or ABSENT}


SECTION = Section(
    name="NUMA",
    tell=_tell,
    files=(
        f"{_NODE}/online",
        *(f"{_NODE}/node[0-9]*/{name}" for name in ("cpulist", "meminfo", "distance")),
    ),
    # Hypervisors take it and give it back while a guest runs; what there is in all is a fact.
    volatile=frozenset({_MEMORY}),
)
