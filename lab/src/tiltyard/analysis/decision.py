"""Go on or stop: what a run asks at each look."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.analysis.model import Comparison, Findings
from tiltyard.units import agreeing, count_of, part_of


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
    """Stop when no comparison is open, or when the last look has been reached.

    What lacks blocks there because trials failed goes on, as long as there are spares.

    A comparison that is decided stays so. Its trials go on only as long as they yield something
    that is open too: a trial yields all of its cells at once.
    """
    comparisons = all_comparisons(findings)
    still_open = tuple(found for found in comparisons if found.is_open)
    return Decision(
        findings.complete, still_open, _reason(findings, comparisons), _going_on(findings)
    )


def _reason(findings: Findings, comparisons: Sequence[Comparison]) -> str:
    """Why to stop, or what is still open."""
    family, done = len(comparisons), findings.blocks_done
    if findings.complete and findings.design.sessions > 1:
        return (
            f"a session of {count_of(done, 'block')} is done; no verdict rests on one session alone"
        )
    undecided = sum(found.verdict == "undecided" for found in comparisons)
    still_open = sum(found.is_open for found in comparisons)
    invalid = sum(found.verdict == "invalid" for found in comparisons)
    decided = family - undecided - invalid
    beside = f", and {invalid} {agreeing(invalid, 'is', 'are')} invalid" if invalid else ""
    last = findings.design.looks[-1].blocks
    if comparisons and not decided and not undecided:
        invalid_ones = "the comparison is" if family == 1 else f"all {family} comparisons are"
        return f"{invalid_ones} invalid: too many trials have failed"
    if comparisons and not undecided:
        which = f"{decided} of" if invalid else "all"
        what = "the comparison is" if family == 1 else f"{which} {family} comparisons are"
        return f"{what} decided after {count_of(findings.look, 'block')}{beside}"
    if not comparisons:
        reached = ", and the last look is reached" if done >= last else ""
        return (
            f"nothing can be compared after {count_of(done, 'block')}{reached}: no trials of two "
            "systems"
        )
    if done >= last and not findings.complete:
        lacking = sum(_is_lacking(found, last) for found in comparisons)
        return (
            f"{part_of(lacking, family, 'comparison', 'lacks', 'lack')} blocks in which trials "
            "failed; replacement blocks follow"
        )
    if done >= last:
        return (
            f"the last look, after {count_of(last, 'block')}, is reached; "
            f"{part_of(undecided, family, 'comparison', 'stays', 'stay')} undecided{beside}"
        )
    if comparisons and not still_open:
        return (
            f"{part_of(decided, family, 'comparison')} decided after "
            f"{count_of(findings.look, 'block')}{beside}; the other {undecided} could hardly be "
            f"by the last look, after {last}"
        )
    coming = next(look.blocks for look in findings.design.looks if look.blocks > done)
    return (
        f"{part_of(still_open, family, 'comparison')} open after {count_of(done, 'block')}; "
        f"the next look is after {coming}"
    )


def _going_on(findings: Findings) -> frozenset[tuple[str, str]]:
    """The trials that can still decide something."""
    return frozenset(
        (system, workload.name)
        for workload in findings.workloads
        for table in workload.compared
        for found in table.comparisons
        if _is_lacking(found, findings.design.looks[-1].blocks)
        for system in (found.system, found.against)
    )


def _is_lacking(found: Comparison, last: int) -> bool:
    """Whether it is open and has fewer blocks than the last look."""
    return found.is_open and len(found.differences) < last


def headlines(findings: Findings) -> tuple[Comparison, ...]:
    """The comparison of each pair of systems in each workload."""
    return tuple(found for own in findings.workloads for found in own.index.comparisons)


def all_comparisons(findings: Findings) -> tuple[Comparison, ...]:
    """Every comparison of the study once: indices, then metrics, then cells, then latencies."""
    tables = (
        *(workload.index for workload in findings.workloads),
        *(index for workload in findings.workloads for index in workload.other_metrics),
        *(cell for own in findings.workloads for cell in own.other_cells),
        *(table for workload in findings.workloads for table in workload.latency_tables),
    )
    return tuple(comparison for table in tables for comparison in table.comparisons)
