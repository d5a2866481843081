"""Sessions: what was done on which day, and what holds over them."""

from collections.abc import Iterator
from dataclasses import replace

from tiltyard.analysis.amounts import coverage
from tiltyard.analysis.model import Findings
from tiltyard.analysis.session_model import OverSessions, SessionLine, Sessions
from tiltyard.charts.figures import interval_text, ratio_text, verdict_word
from tiltyard.report.document import Block, Column, Entry, Paragraph, Sentences, Table
from tiltyard.report.sections.printing import MISSING, count_entry, percent_entry, percent_text
from tiltyard.units import format_ratio


def sessions(findings: Findings) -> tuple[Block, ...]:
    """Everything about sessions; nothing of a study of one."""
    found = findings.sessions
    if found is None:
        return ()
    return (
        Paragraph(found.sentence, "lead"),
        *_over(findings, found),
        _lines(found),
    )


def _over(findings: Findings, found: Sessions) -> Iterator[Block]:
    """The verdict over sessions, each session's own ratio, and the spread."""
    if not found.comparisons:
        return
    yield Sentences(tuple(own.sentence for own in found.comparisons))
    numbers = [line.number for line in found.lines]
    yield Table(
        id="sessions-ratios",
        title="Ratio in each session, and over sessions",
        columns=(
            Column("Comparison", figures=False),
            *(Column(f"session {number}") for number in numbers),
            Column("over sessions"),
            Column("interval"),
            Column("between sessions", "%"),
            Column("within", "%"),
            Column("Verdict", figures=False),
        ),
        rows=tuple(_row(findings, own, numbers) for own in found.comparisons),
        caption=(
            "Of each session the geometric mean of the ratios in its blocks. Over sessions: "
            "Hodges–Lehmann with the interval that the verdict rests on, simultaneous over the "
            f"comparisons{_levels(found)}. Between sessions: standard deviation of log ratios "
            "without what the blocks explain, with its 95 % interval; within: that of the blocks "
            "of one session."
        ),
    )


def _levels(found: Sessions) -> str:
    levels = {own.level for own in found.comparisons if own.low is not None}
    return f" ({coverage(levels.pop())} each)" if len(levels) == 1 else ""


def _row(findings: Findings, own: OverSessions, numbers: list[int]) -> tuple[Entry, ...]:
    values = {value.session: value for value in own.values}
    return (
        Entry(f"{own.system} against {own.against}", strong=True, beneath=own.topic),
        *(
            Entry(
                format_ratio(values[number].ratio, own.sd_within or None),
                values[number].ratio,
                beneath=f"{values[number].blocks} blocks",
            )
            if number in values
            else MISSING
            for number in numbers
        ),
        Entry(ratio_text(own), own.ratio) if own.ratio is not None else MISSING,
        Entry(interval_text(own)),
        _spread(own),
        percent_entry(own.sd_within),
        Entry(verdict_word(own.verdict, findings.clock), kind="verdict", verdict=own.verdict),
    )


def _spread(own: OverSessions) -> Entry:
    if own.sd_between is None:
        return MISSING
    low, high = percent_text(own.sd_between_low), percent_text(own.sd_between_high)
    beneath = f"{low.removesuffix(' %')} … {high.removesuffix(' %')}"
    return replace(percent_entry(own.sd_between), beneath=beneath)


def _lines(found: Sessions) -> Table:
    """When and where each session was."""
    return Table(
        id="sessions",
        title="When they were carried out",
        columns=(
            Column("session"),
            Column("Begun (UTC)", figures=False),
            Column("Apart from the one before", figures=False),
            Column("blocks"),
            Column("State", figures=False),
            Column("Boot", figures=False, spare=True),
            Column("Seal", figures=False, spare=True),
        ),
        rows=tuple(_line(line) for line in found.lines),
        caption="A boot is named by the first digits of its random identifier, as random(4) has "
        "it; the seal of a session stands for its journal and its trials.",
    )


def _line(line: SessionLine) -> tuple[Entry, ...]:
    added = "" if line.planned else "added to the finished study"
    return (
        count_entry(line.number),
        Entry(line.began[:16].replace("T", " ") or "–"),
        Entry(line.apart or "–", beneath=added),
        count_entry(line.blocks),
        Entry(line.state),
        Entry(", ".join(boot[:8] for boot in line.boots) or "–"),
        Entry(line.seal[:12] or "–"),
    )
