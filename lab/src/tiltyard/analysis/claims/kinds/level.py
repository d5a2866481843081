"""How often one level of the first factor is better than the base, over all tests and pairs."""

from collections.abc import Iterator

from tiltyard.analysis.claims.counts import Count, count_together
from tiltyard.analysis.claims.crossing import crossing
from tiltyard.analysis.claims.deltas import unprinted_decimals
from tiltyard.analysis.claims.lines import tests
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import counted, counted_figures
from tiltyard.analysis.model import Findings, Pair


def over_levels(findings: Findings) -> list[Count]:
    """Each level against the base; none where a level is a single pair, which is told as such."""
    crossed = crossing(findings)
    found = (
        count_together(
            tests(findings),
            crossed.pairs_of(level),
            Pair(system=level, against=crossed.base, within=""),
            unprinted_decimals(findings),
        )
        for level in crossed.levels[1:]
        if len(crossed.pairs_of(level)) > 1
    )
    return [one for one in found if one is not None]


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence a level."""
    for found in over_levels(findings):
        yield Claim(
            kind="level",
            workload="",
            sentence=counted(findings, found, "comparisons"),
            figures=counted_figures(found),
        )
