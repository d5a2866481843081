"""How a claim is said: who had how much more or less of what, and what that rests on."""

from tiltyard.analysis.claims.counts import Count
from tiltyard.analysis.claims.deltas import Delta
from tiltyard.analysis.claims.lines import COUNTS, RATE, Line
from tiltyard.analysis.model import Findings

INSTRUCTIONS = "instr/op"


def better_or_worse(found: Delta, line: Line) -> str:
    """``delivered 33.4 % more throughput than NTFS``; of nothing: ``had the same throughput``."""
    against, amount = found.pair.against, f"{found.amount} %"
    what = line.quantity
    more = (found.percent > 0) == (line.direction == "higher")
    if not what:
        if found.is_nothing:
            return f"was as fast overall as {against} ({amount})"
        return f"was {amount} {'faster' if found.percent > 0 else 'slower'} overall than {against}"
    if found.is_nothing:
        return f"had the same {what} as {against} ({amount})"
    if line.of.unit == INSTRUCTIONS:
        return f"needed {amount} {'more' if more else 'fewer'} instructions than {against}"
    if line.direction == "lower":
        return f"had {amount} {'higher' if more else 'lower'} {what} than {against}"
    if line.of.unit == COUNTS and what != RATE:
        return f"did {amount} {'more' if more else 'fewer'} {what} than {against}"
    if line.of.unit == "B/s":
        return f"delivered {amount} {'more' if more else 'less'} {what} than {against}"
    return f"had {amount} {'higher' if more else 'lower'} {what} than {against}"


def named(line: Line) -> str:
    """Where there is no difference: ``in throughput``, ``overall``."""
    return f"in {line.quantity}" if line.quantity else "overall"


def single(findings: Findings) -> str:
    """What a number that was not repeated rests on."""
    printed = findings.origin is not None and any(
        cell.printed for workload in findings.workloads for cell in workload.cells
    )
    return "by single printed numbers" if printed else "by single numbers"


def counted(findings: Findings, found: Count, what: str) -> str:
    """``ext4 is better than NTFS in 3 of 3 tests: from +14.5 % (…) to +33.4 % (…), …``."""
    pair = found.pair
    told = f"{pair.system} is better than {pair.against} in {found.better} of {found.of} {what}"
    if found.worse:
        told += f" and worse in {found.worse}"
    if found.of > 1:
        told += f": from {found.least.text} % ({found.least_at}) "
        told += f"to {found.most.text} % ({found.most_at})"
    return f"{told}, {'counted by verdict' if found.repeated else single(findings)}."


def counted_figures(found: Count) -> tuple[str, ...]:
    """The numbers of :func:`counted`, in order."""
    worse = (str(found.worse),) if found.worse else ()
    ends = (found.least.amount, found.most.amount) if found.of > 1 else ()
    return (str(found.better), str(found.of), *worse, *ends)
