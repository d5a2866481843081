"""Go on or stop: what a run asks at each look."""

from dataclasses import dataclass

from tiltyard.analysis.model import Comparison, Findings


@dataclass(frozen=True)
class Decision:
    """Whether more blocks could change anything that is still open."""

    done: bool
    open: tuple[Comparison, ...]
    """Comparisons without a decision: those of the indices first, then those of the cells."""
    reason: str
    """One sentence."""
    going_on: frozenset[tuple[str, str]]
    """(system, workload) that take part in something that is still open."""


def decision(findings: Findings) -> Decision:
    """Stop when every comparison is decided, or when the last look has been reached.

    All comparisons go on as long as one is open: a trial yields all of its cells at once, and an
    interval that has already decided only becomes narrower.
    """
    comparisons = all_comparisons(findings)
    still_open = tuple(found for found in comparisons if found.verdict == "undecided")
    last = findings.design.looks[-1].blocks
    at_end = findings.blocks_done >= last
    if not still_open and comparisons:
        reason = f"all {len(comparisons)} comparisons are decided after {findings.look} blocks"
    elif at_end:
        reason = (
            f"the last look, after {last} blocks, is reached; "
            f"{len(still_open)} of {len(comparisons)} comparisons stay undecided"
        )
    else:
        coming = next(
            look.blocks for look in findings.design.looks if look.blocks > findings.blocks_done
        )
        reason = (
            f"{len(still_open)} of {len(comparisons)} comparisons are open after "
            f"{findings.blocks_done} blocks; the next look is after {coming}"
        )
    return Decision(
        at_end or bool(comparisons and not still_open), still_open, reason, _going_on(findings)
    )


def _going_on(findings: Findings) -> frozenset[tuple[str, str]]:
    """The trials that can still decide something."""
    return frozenset(
        (system, workload.name)
        for workload in findings.workloads
        for table in workload.compared
        for found in table.comparisons
        if found.verdict == "undecided"
        for system in (found.system, found.against)
    )


def all_comparisons(findings: Findings) -> tuple[Comparison, ...]:
    """Every comparison of the study: indices, then metrics, then cells, then latencies."""
    tables = (
        *(workload.index for workload in findings.workloads),
        *(index for workload in findings.workloads for index in workload.by_metric),
        *(cell for workload in findings.workloads for cell in workload.cells),
        *(table for workload in findings.workloads for table in workload.latency_tables),
    )
    return tuple(comparison for table in tables for comparison in table.comparisons)
