"""What stands above the headline in every style and in the terminal: who quotes it must know this.

A warning is a statement over findings, one in :data:`WARNINGS`; or a notice that is a problem, or
marked ``above``.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.statements.statement import statement
from tiltyard.units import agreeing, count_of

warning = partial(Notice, severity="warning", above=True)


def warnings(findings: Findings) -> tuple[Notice, ...]:
    """All of them, in order."""
    return tuple(notice for one in WARNINGS for notice in one.make(findings))


@statement("warning", "A notice of a problem, or one that is marked as standing above the headline")
def _noticed(findings: Findings) -> Iterator[Notice]:
    """A notice is a problem, or is marked."""
    for notice in findings.notices:
        if notice.above or notice.severity == "problem":
            yield notice


@statement("warning", "Not finished: N of at most M blocks are done.")
def _unfinished(findings: Findings) -> Iterator[Notice]:
    """Further blocks could decide what is open."""
    if findings.complete:
        return
    rests = "No verdict rests on them yet."
    if findings.look:
        rests = f"Verdicts rest on {findings.design.amount(findings.look)}."
    if findings.stopped:
        text = f"The study ended before everything was decided: {findings.stopped}."
        rests = rests if findings.look else ""
    else:
        text = (
            f"This study is not finished: {findings.blocks_done} of at most "
            f"{count_of(findings.blocks_planned, 'block')} "
            f"{agreeing(findings.blocks_done, 'is', 'are')} done."
        )
    yield warning(text=f"{text} {rests}".rstrip())


_ORDERED: Final = ("step", "drift")


@statement("warning", "Step change of −N % at trial M.")
def _moved(findings: Findings) -> Iterator[Notice]:
    """A further finding tells of a step or a drift over the order of the trials."""
    for workload in findings.workloads:
        for found in workload.observations:
            if found.kind in _ORDERED:
                yield warning(text=found.sentence)


def is_unrepeated(findings: Findings) -> bool:
    """Whether values come from elsewhere, and no comparison of them has an interval."""
    pairs = [
        pair
        for workload in findings.workloads
        for of in workload.compared
        for pair in of.comparisons
    ]
    over = any(pair.over for pair in pairs)
    single = bool(pairs) and not over and all(pair.low is None for pair in pairs)
    return single and not findings.planned


@statement("warning", "Values were not repeated: there is no interval and no verdict.")
def _unrepeated(findings: Findings) -> Iterator[Notice]:
    """It is said here once for all sentences."""
    if is_unrepeated(findings):
        yield warning(
            text="Values were not repeated: there is no interval and no verdict, and no "
            "difference can be distinguished from chance."
        )


WARNINGS: Final = (_noticed, _unfinished, _moved, _unrepeated)
"""In the order of print."""
