"""What a mean hides: tests decided both ways, one of two undecided, a sign that one test turns.

Where it hides that, the mean is no headline: the tests are, and the mean stays in the tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.analysis.line import Line, line_in
from tiltyard.analysis.model import Comparison, Findings, Pair, WorkloadFindings
from tiltyard.analysis.pairs import between
from tiltyard.analysis.statements.deltas import Row, cell_rows, crossing
from tiltyard.analysis.statements.numbers import confidence
from tiltyard.units import count_of

NAMED = 2
"""As many tests are named on each side; of more the largest difference, and how many."""


@dataclass(frozen=True)
class _Part:
    """One test of a mean, with its own verdict."""

    row: Row
    line: Line

    @property
    def log(self) -> float:
        """Of the ratio, more is better."""
        return math.log(self.line.gain.ratio or 1.0)

    @property
    def text(self) -> str:
        """``random read +9.5 % (+8.0 … +11.0 %, faster)``; see :attr:`Line.in_full`."""
        return f"{self.row.head} {self.line.in_full}"


def split(
    findings: Findings, whole: Comparison | None, rows: Sequence[Row], what: str, noun: str
) -> str:
    """The tests of a mean, where it hides them; else empty.

    Args:
        findings: whose digits and correction hold.
        whole: the mean.
        rows: what it goes over.
        what: what it is the mean of, ``fio``; empty: the tests themselves.
        noun: what its parts are called, ``test``.
    """
    parts = _hidden(findings, whole, rows)
    if not parts:
        return ""
    told = [text for word in ("faster", "slower") if (text := _side(parts, word))]
    named = len(parts) <= NAMED
    told += [one.text for one in parts if named and not one.line.is_decided]
    rest = [
        f"{words} in {number}"
        for verdict, words in (
            ("equivalent", "equivalent"),
            ("undecided", "no difference shown"),
            ("invalid", "no verdict"),
        )
        if (number := 0 if named else sum(one.line.verdict == verdict for one in parts))
    ]
    of = f" of {count_of(len(parts), noun)}"
    ending = "; ".join(filter(None, (", ".join(told), ", ".join(rest) + of if rest else "")))
    pair = parts[0].line.pair
    place = f" in {what}" if what else ""
    return f"{pair.system} against {pair.against}{place} ({_basis(findings, parts)}): {ending}."


def split_in_short(findings: Findings, whole: Comparison | None, rows: Sequence[Row]) -> str:
    """``faster in 2, slower in 4``, for one pair among others; see :func:`split`."""
    verdicts = [one.line.verdict for one in _hidden(findings, whole, rows)]
    sides = [f"{word} in {verdicts.count(word) or 'none'}" for word in ("faster", "slower")]
    return ", ".join(sides) if verdicts else ""


def _hidden(findings: Findings, whole: Comparison | None, rows: Sequence[Row]) -> list[_Part]:
    """The parts of a mean that hides some of them; else none."""
    if whole is None or whole.low is None:
        return []
    pair = Pair(system=whole.system, against=whole.against, within="")
    parts = [
        _Part(row, own)
        for row in rows
        if (own := line_in(findings, row.of, pair)) is not None and own.interval
    ]
    hides = len(parts) > 1 and (
        _is_both_ways(parts) or _is_one_of_two(parts) or _turns_round(whole, parts)
    )
    return parts if hides else []


def _is_both_ways(parts: Sequence[_Part]) -> bool:
    return {"faster", "slower"} <= {one.line.verdict for one in parts}


def _is_one_of_two(parts: Sequence[_Part]) -> bool:
    """Whether the mean of two has half of what only one of them shows."""
    return len(parts) == NAMED and sum(one.line.is_decided for one in parts) == 1


def _turns_round(whole: Comparison, parts: Sequence[_Part]) -> bool:
    """Whether a decided mean has the other sign without one of its tests."""
    logs = [one.log for one in parts]
    total = math.fsum(logs)
    decided = whole.verdict in ("faster", "slower")
    return decided and any((total - own) * total < 0 for own in logs)


def _side(parts: Sequence[_Part], verdict: str) -> str:
    own = [one for one in parts if one.line.verdict == verdict]
    own.sort(key=lambda one: -abs(one.log))
    if len(own) <= NAMED:
        return ", ".join(one.text for one in own)
    return f"{verdict} in {len(own)}, most of all {own[0].text}"


def _basis(findings: Findings, parts: Sequence[_Part]) -> str:
    rate = findings.design.false_discovery_rate
    # Workloads as wholes hold together; everything within them is corrected for selection.
    wholes = [id(workload.index) for workload in findings.workloads]
    named = [one for one in parts if one.line.is_decided or len(parts) <= NAMED] or parts
    rates = [None if id(one.row.of) in wholes else rate for one in named]
    levels = [one.line.level for one in named]
    basis = ", ".join(sorted(set(map(confidence, levels, rates))))
    if not findings.planned:
        return basis
    blocks = sorted({one.line.blocks for one in parts})
    least = f"{blocks[0]} to " if len(blocks) > 1 else ""
    return f"{basis}, {least}{findings.design.amount(blocks[-1])}"


def split_answer(findings: Findings, workload: WorkloadFindings) -> str:
    """A workload by its cells where a mean over them hides some; else empty."""
    found = [
        (whole, split_pair(findings, workload, whole))
        for pair in crossing(findings).pairs
        if (whole := between(workload.index.comparisons, *pair.sides)) is not None
    ]
    if not any(text for _, text in found):
        return ""
    return " ".join(text or whole.sentence for whole, text in found)


def split_pair(findings: Findings, workload: WorkloadFindings, whole: Comparison) -> str:
    """One comparison of a workload as a whole by its cells, where it hides some; else empty."""
    sides = whole.system, whole.against
    of_cells = (between(cell.comparisons, *sides) for cell in workload.cells)
    # Values are summed up only where cells may be told.
    decided = {one.verdict for one in (whole, *of_cells) if one} & {"faster", "slower"}
    if not decided:
        return ""
    several = len({cell.metric for cell in workload.cells}) == len(workload.cells)
    rows = cell_rows(workload)
    return split(findings, whole, rows, workload.display, "test" if several else "cell")
