"""Names of tables and figures: unique in a document, safe as anchors and as file names."""

import re
from collections.abc import Iterable

from tiltyard.analysis.model import Findings, WorkloadFindings


def slug(text: str) -> str:
    """``iozone in-cache, ext4`` → ``iozone-in-cache-ext4``; never empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Each name's slug; where two would be the same, the later one gets a number."""
    found: dict[str, str] = {}
    for name in names:
        base = own = slug(name)
        count = 1
        while own in found.values():
            count += 1
            own = f"{base}-{count}"
        found[name] = own
    return found


def place(findings: Findings, workload: WorkloadFindings) -> str:
    """What the ids of everything about one workload begin with."""
    return slugs(one.name for one in findings.workloads)[workload.name]
