"""Claims of styles: sentences made of findings, with the numbers of the tables beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.line import Line, line_in, line_of_averages, line_over_all
from tiltyard.analysis.model import Average, Cell, Findings, Pair, WorkloadFindings
from tiltyard.analysis.relative import first_without, mean_shares, relative_tests, with_mean
from tiltyard.analysis.statements.deltas import (
    COUNTS,
    RATE,
    Count,
    Row,
    cell_rows,
    count_together,
    counts,
    crossing,
    quantity,
    rows,
    spreads,
    tests,
)
from tiltyard.analysis.statements.statement import statement
from tiltyard.analysis.statements.warnings import is_unrepeated
from tiltyard.analysis.tallies import Tally, tallies
from tiltyard.frozen import Frozen
from tiltyard.units import count_of, format_number


class Claim(Frozen):
    """One sentence made of findings, with the numbers in it."""

    kind: str
    """What sort of claim: ``lead``, ``ahead``, ``average`` …"""
    workload: str
    """That it is about; empty: the whole study."""
    row: str = ""
    """Of the summary, where the sentence is about one."""
    sentence: str
    figures: tuple[str, ...]
    """Every number in the sentence as it is printed there and in a table, in order, unsigned."""


INSTRUCTIONS = "instr/op"


def better_or_worse(found: Line, row: Row) -> str:
    """``delivered 33.4 % more throughput than NTFS``; of nothing: ``had the same throughput``."""
    against, amount = found.pair.against, found.size
    what = row.quantity
    more = (found.percent > 0) == (row.direction == "higher")
    if not what:
        if found.is_nothing:
            return f"was as fast overall as {against} ({amount})"
        if found.is_ratio:
            return f"took {amount} as much overall as {against}"
        return f"was {amount} {'faster' if found.percent > 0 else 'slower'} overall than {against}"
    if found.is_nothing:
        return f"had the same {what} as {against} ({amount})"
    if found.is_ratio:
        return f"had {amount} the {what} of {against}"
    if row.of.unit == INSTRUCTIONS:
        return f"needed {amount} {'more' if more else 'fewer'} instructions than {against}"
    if row.direction == "lower":
        return f"had {amount} {'higher' if more else 'lower'} {what} than {against}"
    if row.of.unit == COUNTS and what != RATE:
        return f"did {amount} {'more' if more else 'fewer'} {what} than {against}"
    if row.of.unit == "B/s":
        return f"delivered {amount} {'more' if more else 'less'} {what} than {against}"
    return f"had {amount} {'higher' if more else 'lower'} {what} than {against}"


def named(row: Row) -> str:
    """Where there is no difference: ``in throughput``, ``overall``."""
    return f"in {row.quantity}" if row.quantity else "overall"


def single(findings: Findings) -> str:
    """`` (single values, no CI)``; empty where nothing was repeated, which a warning says once."""
    if findings.planned:
        return " (no CI yet)"
    cells = (cell for workload in findings.workloads for cell in workload.cells)
    printed = "published " if any(cell.printed for cell in cells) else ""
    return "" if is_unrepeated(findings) else f" (single {printed}values, no CI)"


def counted(findings: Findings, found: Count, what: str, *, speeds: bool = False) -> str:
    """``xfs is better than ext4 in 3 of 13 tests and worse in 1: from −20 % (…) to +33 % (…) …``.

    The range goes over what is decided only; with ``speeds`` a time is told as a speed too.
    """
    pair, basis = found.pair, " (by verdict)" if found.repeated else single(findings)
    if not found.decided:
        text = f"No difference shown between {pair.system} and {pair.against} in {found.of} {what}"
        return f"{text}{_alike(found)}{basis}."
    sides = [("better", found.better), ("worse", found.worse)]
    (word, first), *others = [(word, number) for word, number in sides if number]
    text = f"{pair.system} is {word} than {pair.against} in {first} of {found.of} {what}"
    text += "".join(f" and {word} in {number}" for word, number in others) + _alike(found)
    ends = [
        f"{one.told} ({_at(one, at)}{f', {one.as_speed}' if speeds and one.as_speed else ''})"
        for one, at in _range(found)
    ]
    return f"{text}{': ' if ends else ''}{' to '.join(ends)}{basis}."


def _alike(found: Count) -> str:
    if not found.equivalent:
        return ""
    return f", {'equivalent' if found.repeated else 'within the margin'} in {found.equivalent}"


def _range(found: Count) -> list[tuple[Line, str]]:
    """The smallest and the largest decided difference, with their places; one where it is alone."""
    ends = [(found.least, found.least_at), (found.most, found.most_at)]
    told = {at: (one, at) for one, at in ends if one is not None and at}
    return list(told.values())


def _at(found: Line, at: str) -> str:
    """``AIO-Stress, Btrfs; −25 … −14 %``: where, and the interval."""
    return f"{at}; {found.told_interval}" if found.interval else at


def counted_figures(found: Count) -> tuple[str, ...]:
    """The numbers of :func:`counted`, in order."""
    same = (str(found.equivalent),) if found.equivalent else ()
    if not found.decided:
        return (str(found.of), *same)
    first, *others = [str(number) for number in (found.better, found.worse) if number]
    ends = (number for one, _ in _range(found) for number in (one.amount, *one.ends))
    return (first, str(found.of), *others, *same, *ends)


def over_levels(findings: Findings) -> list[Count]:
    """Each level against the base; none where a level is a single pair, reported as a pair."""
    crossed = crossing(findings)
    found = (
        count_together(
            findings,
            [(row.head, row.of) for row in tests(findings)],
            crossed.pairs_of(level),
            Pair(system=level, against=crossed.base, within=""),
        )
        for level in crossed.levels[1:]
        if len(crossed.pairs_of(level)) > 1
    )
    return [one for one in found if one is not None]


@statement(
    "claim",
    "LEVEL is better than BASE in N of M comparisons: from … (TEST) to … (TEST)",
    "a level of the first factor was compared in several pairs",
)
def _level(findings: Findings) -> Iterator[Claim]:
    """One sentence a level."""
    for found in over_levels(findings):
        yield Claim(
            kind="level",
            workload="",
            sentence=counted(findings, found, "comparisons"),
            figures=counted_figures(found),
        )


@statement(
    "claim",
    "TEST: SYSTEM delivered N % more QUANTITY than SYSTEM (LOW … HIGH %)",
    "each pair of the first factor in each line of the summary",
)
def _lead(findings: Findings) -> Iterator[Claim]:
    """One sentence for each pair of the first factor in each line."""
    pairs = crossing(findings).pairs
    for row in rows(findings):
        for pair in pairs:
            found = line_in(findings, row.of, pair)
            if found is not None and found.verdict != "invalid":
                yield _lead_claim(findings, row, found)


def _lead_claim(findings: Findings, row: Row, found: Line) -> Claim:
    system, against = found.pair.system, found.pair.against
    where = "" if row.head.lower() in row.quantity.lower() else f"{row.head}: "
    if not found.interval:
        figures: tuple[str, ...] = (found.amount,)
        text = f"{system} {better_or_worse(found, row)}{single(findings)}."
    elif found.verdict in ("faster", "slower"):
        figures = (found.amount, *found.ends)
        text = f"{system} {better_or_worse(found, row)} ({found.told_interval})."
    else:
        figures = found.ends
        word = "equivalent" if found.verdict == "equivalent" else "not separated"
        text = f"{system} and {against} are {word} {named(row)} "
        text += f"({found.told_interval}{_excluded(found)})."
    return Claim(
        kind="lead", workload=row.workload, row=row.head, sentence=where + text, figures=figures
    )


def _excluded(found: Line) -> str:
    """Why an interval without zero in it decides nothing."""
    excludes = found.low is not None and found.high is not None and not found.low <= 1 <= found.high
    if found.verdict != "undecided" or not excludes:
        return ""
    return ", not significant after correction for multiple comparisons"


def over_lines(findings: Findings) -> list[Count]:
    """Each pair of the first factor over the lines of the summary; empty for a single line."""
    own = tests(findings)
    if len(own) < 2:
        return []
    return counts(findings, own, crossing(findings).pairs)


def over_cells(findings: Findings, workload: WorkloadFindings) -> list[Count]:
    """Each pair of the first factor over the cells of a workload; empty for a single cell."""
    if len(workload.cells) < 2:
        return []
    own = cell_rows(workload)
    return counts(findings, own, crossing(findings).pairs)


@statement(
    "claim",
    "SYSTEM is better than SYSTEM in N of M tests: from … (TEST) to … (TEST)",
    "several tests, or a workload of several cells",
)
def _ahead(findings: Findings) -> Iterator[Claim]:
    """One sentence for each pair over all lines, then for each pair and workload over its cells."""
    for found in over_lines(findings):
        yield _ahead_claim(findings, found, "", "tests")
    for workload in findings.workloads:
        for found in over_cells(findings, workload):
            yield _ahead_claim(findings, found, workload.name, f"cells of {workload.display}")


def _ahead_claim(findings: Findings, found: Count, workload: str, what: str) -> Claim:
    return Claim(
        kind="ahead",
        workload=workload,
        sentence=counted(findings, found, what),
        figures=counted_figures(found),
    )


def averaged(workload: WorkloadFindings) -> tuple[tuple[Average, ...], tuple[Cell, ...]]:
    """The averages of a workload with the cells that they go over; both empty if it has none."""
    if workload.averages:
        return workload.averages, workload.cells
    if workload.latencies and len(workload.latencies.cells) > 1:
        return workload.latencies.averages, workload.latencies.cells
    return (), ()


@statement(
    "claim",
    "WORKLOAD: on average over its points SYSTEM had N % higher QUANTITY than SYSTEM",
    "a workload has arithmetic means over its points",
)
def _average(findings: Findings) -> Iterator[Claim]:
    """One sentence for each workload with averages and each pair of the first factor."""
    for workload in findings.workloads:
        basis = " (no CI)" if findings.planned else single(findings)
        averages, cells = averaged(workload)
        known = {average.system: average for average in averages}
        if not cells:
            continue
        what = quantity(cells[0].label, cells[0].unit)
        for pair in crossing(findings).pairs:
            if pair.system not in known or pair.against not in known:
                continue
            own, other = known[pair.system], known[pair.against]
            found = line_of_averages(findings, cells[0], own, other)
            word = "lower" if (found.percent > 0) == (found.direction == "lower") else "higher"
            than = f"{found.size} {word} {what} than" if not found.is_ratio else ""
            yield Claim(
                kind="average",
                workload=workload.name,
                sentence=f"{workload.display}: on average over its points (arithmetic mean) "
                f"{pair.system} had {than or f'{found.size} the {what} of'} {pair.against}{basis}.",
                figures=(found.amount,),
            )


@dataclass(frozen=True)
class Place:
    """One system over all tests."""

    tally: Tally
    share: float | None
    """Geometric mean of what it reaches of the best, over the tests that are alike; ``None`` where
    it has not all of them."""
    of: int
    """So many tests measure the same, and have the mean."""
    first_without: int
    """How often its mean is the highest while one test after the other is left out."""
    behind: Line | None
    """It against the first one, in the geometric mean; ``None`` for that one itself."""

    @property
    def text(self) -> str:
        """The mean in percent, as table and sentence print it: ``95.7``."""
        return "–" if self.share is None else f"{100 * self.share:.1f}"


def places(findings: Findings) -> list[Place]:
    """The systems, best mean first; empty for a study of one test."""
    found = relative_tests(findings)
    if len(found) < 2:
        return []
    alike = with_mean(found)
    means, without = mean_shares(alike), first_without(alike)
    first = max(means, key=means.__getitem__, default="")
    own = [
        Place(
            tally,
            means.get(tally.system),
            len(alike),
            without[tally.system],
            line_over_all(findings, Pair(system=tally.system, against=first, within="")),
        )
        for tally in tallies(findings)
    ]
    return sorted(own, key=lambda one: one.share or 0.0, reverse=True)


@statement(
    "claim",
    "Over N tests SYSTEM has the highest geometric mean, N % of the best; next: SYSTEM (CI …)",
    "several tests, and two systems that have all of them",
)
def _standing(findings: Findings) -> Iterator[Claim]:
    """The first by geometric mean and the next, with interval; then each that is first anywhere.

    It says in how many tests the first one depends on a single test, and is no headline.
    """
    found = places(findings)
    repeated = any(row.has_intervals for row in tests(findings))
    basis = " (by value alone)" if repeated else single(findings)
    ranked = [one for one in found if one.share is not None]
    if len(ranked) > 1:
        best, second, of = ranked[0], ranked[1], str(ranked[0].of)
        against, ends = _second(findings, second)
        over = f"{count_of(of, 'test')}{' that measure the same' * (best.of < best.tally.tests)}"
        yield Claim(
            kind="standing",
            workload="",
            sentence=f"Over {over} {best.tally.system} has the highest geometric mean, {best.text} "
            f"% of the best value of each; {second.tally.system} is second, {second.text} %"
            f"{against}. With one test left out at a time, {best.tally.system} stays first in "
            f"{best.first_without} of {of} cases.",
            figures=(of, best.text, second.text, *ends, str(best.first_without), of),
        )
    if len(found) < 2:
        return
    for one in sorted(found, key=lambda own: -own.tally.first):
        if one.tally.first:
            yield _standing_first(one.tally, basis)


def _second(findings: Findings, second: Place) -> tuple[str, tuple[str, ...]]:
    """`` (slower: −3.1 %, +0.2 … −6.0 %)``, and the numbers in it."""
    behind = second.behind
    if behind is None or not behind.interval:
        return single(findings), ()
    words = {"undecided": "no difference shown", "equivalent": "equivalent"}
    word = words.get(behind.verdict, behind.verdict)
    return f" ({word}: {behind.told}, {behind.told_interval})", (behind.amount, *behind.ends)


def _standing_first(own: Tally, basis: str) -> Claim:
    last = f" and last in {own.last}" if own.last else ", never last"
    return Claim(
        kind="standing",
        workload="",
        sentence=(
            f"{own.system} is first in {own.first} of {count_of(own.tests, 'test')}{last}{basis}."
        ),
        figures=(str(own.first), str(own.tests), *([str(own.last)] if own.last else [])),
    )


def firsts(findings: Findings, workload: WorkloadFindings) -> dict[str, int]:
    """System → cells in which its value is the best; empty for fewer than two cells."""
    if len(workload.cells) < 2:
        return {}
    found = {system.name: 0 for system in findings.systems}
    for row in cell_rows(workload):
        values = [value for value in row.values.values() if value > 0]
        best = (max if row.direction == "higher" else min)(values, default=None)
        for system, value in row.values.items():
            found[system] += value == best
    return found


@statement(
    "claim",
    "WORKLOAD: SYSTEM is first in N of M cells",
    "a workload has several cells",
)
def _first(findings: Findings) -> Iterator[Claim]:
    """One sentence a workload: the systems that are first, most often first."""
    for workload in findings.workloads:
        found = firsts(findings, workload)
        text = sorted((own for own in found.items() if own[1]), key=lambda own: -own[1])
        if not text:
            continue
        of = str(len(workload.cells))
        (best, times), *others = text
        rest = "".join(f", {system} in {number}" for system, number in others)
        repeated = any(p.low is not None for cell in workload.cells for p in cell.comparisons)
        basis = " (by value alone)" if repeated else single(findings)
        yield Claim(
            kind="first",
            workload=workload.name,
            sentence=f"{workload.display}: {best} is first in {times} of "
            f"{count_of(of, 'cell')}{rest}{basis}.",
            figures=(str(times), of, *(str(number) for _, number in others)),
        )


@statement(
    "claim",
    "WORKLOAD: the deviations of SYSTEM are N to M % of the mean",
    "standard deviations are known",
)
def _deviation(findings: Findings) -> Iterator[Claim]:
    """One sentence for each workload and system of which a deviation is known."""
    for own in spreads(findings):
        least, most = share_text(own.least), share_text(own.most)
        if own.cells == 1:
            sentence = f"{own.display}: the deviation of {own.system} is {most} % of its mean."
            figures: tuple[str, ...] = (most,)
        else:
            sentence = (
                f"{own.display}: the deviations of {own.system} are {least} to {most} % of the "
                f"mean over {count_of(own.cells, 'cell')}, the largest in {own.most_at}."
            )
            figures = (least, most, str(own.cells))
        yield Claim(kind="deviation", workload=own.workload, sentence=sentence, figures=figures)


def share_text(share: float) -> str:
    """A share in percent, two digits: ``0.055``, ``11``."""
    return format_number(100 * share, 2)


CLAIMS: Final = (_level, _lead, _ahead, _average, _standing, _first, _deviation)
"""In the order in which they are printed."""
