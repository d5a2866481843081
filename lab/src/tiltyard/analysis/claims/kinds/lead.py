"""By how much one system leads another one, in each line of the summary."""

from collections.abc import Iterator

from tiltyard.analysis.claims.crossing import crossing
from tiltyard.analysis.claims.deltas import Delta, delta, unprinted_decimals
from tiltyard.analysis.claims.lines import Line, lines
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import better_or_worse, named, single
from tiltyard.analysis.model import Findings


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence for each pair of the first factor in each line."""
    pairs, decimals = crossing(findings).pairs, unprinted_decimals(findings)
    for line in lines(findings):
        for pair in pairs:
            found = delta(line.comparisons, pair, line.direction, decimals)
            if found is not None and found.verdict != "invalid":
                yield _claim(findings, line, found)


def _claim(findings: Findings, line: Line, found: Delta) -> Claim:
    system, against = found.pair.system, found.pair.against
    where = "" if line.head.lower() in line.quantity.lower() else f"{line.head}: "
    if not found.interval:
        figures: tuple[str, ...] = (found.amount,)
        text = f"{system} {better_or_worse(found, line)}, {single(findings)}."
    elif found.verdict in ("faster", "slower"):
        figures = (found.amount, *found.ends)
        text = f"{system} {better_or_worse(found, line)} ({found.interval} %)."
    else:
        figures = found.ends
        word = "equivalent" if found.verdict == "equivalent" else "not separated"
        text = f"{system} and {against} are {word} {named(line)} "
        text += f"({found.interval} %{_excluded(found)})."
    return Claim(
        kind="lead", workload=line.workload, row=line.head, sentence=where + text, figures=figures
    )


def _excluded(found: Delta) -> str:
    """Why an interval without zero in it decides nothing."""
    excludes = found.low is not None and found.high is not None and found.low * found.high > 0
    if found.verdict != "undecided" or not excludes:
        return ""
    return ", too little among so many comparisons"
