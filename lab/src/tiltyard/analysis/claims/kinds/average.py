"""By how much a system's arithmetic mean over the points is better than another one's."""

from collections.abc import Iterator

from tiltyard.analysis.claims.crossing import crossing
from tiltyard.analysis.claims.deltas import percent, unprinted_decimals, unsigned
from tiltyard.analysis.claims.lines import quantity
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import single
from tiltyard.analysis.model import Average, Cell, Findings, WorkloadFindings


def averaged(workload: WorkloadFindings) -> tuple[tuple[Average, ...], tuple[Cell, ...]]:
    """The averages of a workload with the cells that they go over; both empty if it has none."""
    if workload.averages:
        return workload.averages, workload.cells
    if workload.latencies and len(workload.latencies.cells) > 1:
        return workload.latencies.averages, workload.latencies.cells
    return (), ()


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence for each workload with averages and each pair of the first factor."""
    decimals = unprinted_decimals(findings)
    for workload in findings.workloads:
        basis = single(findings) if findings.origin else "without an interval"
        averages, cells = averaged(workload)
        known = {average.system: average for average in averages}
        if not cells:
            continue
        what = quantity(cells[0].label, cells[0].unit)
        for pair in crossing(findings).pairs:
            if pair.system not in known or pair.against not in known:
                continue
            size = percent(known[pair.system].ratios[pair.against], cells[0].direction)
            amount = unsigned(size, decimals)
            word = "lower" if (size > 0) == (cells[0].direction == "lower") else "higher"
            yield Claim(
                kind="average",
                workload=workload.name,
                sentence=f"{workload.name}: on average over its points (arithmetic mean) "
                f"{pair.system} had {amount} % {word} {what} than {pair.against}, "
                f"{basis}.",
                figures=(amount,),
            )
