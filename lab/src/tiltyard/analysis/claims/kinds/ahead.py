"""In how many lines, and in how many cells, one system is ahead of another one."""

from collections.abc import Iterator

from tiltyard.analysis.claims.counts import Count, counts
from tiltyard.analysis.claims.crossing import crossing
from tiltyard.analysis.claims.deltas import unprinted_decimals
from tiltyard.analysis.claims.lines import cell_lines, tests
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import counted, counted_figures
from tiltyard.analysis.model import Findings, WorkloadFindings


def over_lines(findings: Findings) -> list[Count]:
    """Each pair of the first factor over the lines of the summary; empty for a single line."""
    own = tests(findings)
    if len(own) < 2:
        return []
    return counts(own, crossing(findings).pairs, unprinted_decimals(findings))


def over_cells(findings: Findings, workload: WorkloadFindings) -> list[Count]:
    """Each pair of the first factor over the cells of a workload; empty for a single cell."""
    if len(workload.cells) < 2:
        return []
    own = cell_lines(findings, workload)
    return counts(own, crossing(findings).pairs, unprinted_decimals(findings))


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence for each pair over all lines, then for each pair and workload over its cells."""
    for found in over_lines(findings):
        yield _claim(findings, found, "", "tests")
    for workload in findings.workloads:
        for found in over_cells(findings, workload):
            yield _claim(findings, found, workload.name, f"cells of {workload.name}")


def _claim(findings: Findings, found: Count, workload: str, what: str) -> Claim:
    return Claim(
        kind="ahead",
        workload=workload,
        sentence=counted(findings, found, what),
        figures=counted_figures(found),
    )
