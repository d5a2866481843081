"""What the headline says of CPU time, where it tells another thing than wall-clock time does."""

from typing import Final

from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.statement import statement

_DECIDED: Final = ("faster", "slower")
_WAITING: Final = "CPU time does not show waiting, nor what threads save by running at once."


@statement(
    "headline",
    "SYSTEM takes N % less CPU time than SYSTEM in METRIC (95 % CI …); "
    "the wall-clock time is not decided.",
)
def _apart(findings: Findings) -> str:
    """Of two systems and one program the CPU time is decided, and its wall-clock time otherwise."""
    if len(findings.workloads) != 1 or len(findings.systems) != 2:
        return ""
    (workload,) = findings.workloads
    if workload.cpu_time is None:
        return ""
    (whole,) = workload.index.comparisons
    (found,) = workload.cpu_time.comparisons
    if found.verdict not in _DECIDED or found.verdict == whole.verdict:
        return ""
    told = {
        "undecided": "the wall-clock time is not decided",
        "equivalent": "in wall-clock time they are equivalent",
        "invalid": "of the wall-clock time nothing is known",
    }.get(whole.verdict, "by the clock it is the other way round")
    return f"{found.sentence.removesuffix('.')}; {told}. {_WAITING}"


APART: Final = _apart
"""It stands after the headline, and never in its place."""
