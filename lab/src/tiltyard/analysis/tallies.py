"""How often each system was found better or worse, and how often it came first or last."""

from collections import Counter
from dataclasses import dataclass

from tiltyard.analysis.model import Findings
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.relative import relative_tests
from tiltyard.analysis.verdict import Verdict


@dataclass(frozen=True)
class Tally:
    """One system over all cells of a study, against every other system."""

    system: str
    verdicts: dict[Verdict, int]
    """How many comparisons got which verdict, told from the system's side."""
    first: int
    """Tests in which it was the best by estimate, alone or with others."""
    last: int
    tests: int
    """In which it took part."""


def tallies(findings: Findings) -> list[Tally]:
    """Every system, in the study's order.

    A verdict needs an interval; first and last are by estimate alone and say less.
    """
    counts: dict[str, Counter[Verdict]] = {s.name: Counter() for s in findings.systems}
    for workload in findings.workloads:
        for cell in workload.cells:
            for pair in cell.comparisons:
                counts[pair.system][pair.verdict] += 1
                counts[pair.against][turned(pair).verdict] += 1
    tests = [test.shares for test in relative_tests(findings)]
    return [
        Tally(
            system=system,
            verdicts=dict(found),
            first=sum(shares.get(system) == max(shares.values()) for shares in tests),
            last=sum(shares.get(system) == min(shares.values()) for shares in tests),
            tests=sum(system in shares for shares in tests),
        )
        for system, found in counts.items()
    ]
