"""Which system has the best value, in how many cells of a workload."""

from collections.abc import Iterator

from tiltyard.analysis.claims.lines import cell_lines
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import single
from tiltyard.analysis.model import Findings, WorkloadFindings


def firsts(findings: Findings, workload: WorkloadFindings) -> dict[str, int]:
    """System → cells in which its value is the best; empty for fewer than two cells."""
    if len(workload.cells) < 2:
        return {}
    found = {system.name: 0 for system in findings.systems}
    for line in cell_lines(findings, workload):
        values = [value for value in line.values.values() if value > 0]
        best = (max if line.direction == "higher" else min)(values, default=None)
        for system, value in line.values.items():
            found[system] += value == best
    return found


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence a workload: the systems that are first, most often first."""
    for workload in findings.workloads:
        found = firsts(findings, workload)
        told = sorted((own for own in found.items() if own[1]), key=lambda own: -own[1])
        if not told:
            continue
        of = str(len(workload.cells))
        (best, times), *others = told
        rest = "".join(f", {system} in {number}" for system, number in others)
        repeated = any(p.low is not None for cell in workload.cells for p in cell.comparisons)
        basis = "by value alone" if repeated else single(findings)
        yield Claim(
            kind="first",
            workload=workload.name,
            sentence=f"{workload.name}: {best} is first in {times} of {of} cells{rest}, {basis}.",
            figures=(str(times), of, *(str(number) for _, number in others)),
        )
