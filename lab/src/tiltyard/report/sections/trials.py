"""What was run: all trials, disturbed blocks, sessions."""

from collections.abc import Iterator
from dataclasses import replace

from tiltyard.analysis.disturbed_model import RELATED_LEVEL, DisturbedBlocks
from tiltyard.analysis.line import interval_text, ratio_text, verdict_word
from tiltyard.analysis.model import Findings, TrialLine
from tiltyard.analysis.session_model import OverSessions, SessionLine, Sessions
from tiltyard.analysis.statements.numbers import coverage, p_number, percent_text
from tiltyard.report.document import Block, Column, Entry, Fold, Paragraph, Sentences, Table
from tiltyard.report.sections.entries import (
    MISSING,
    count_entry,
    duration_entry,
    percent_entry,
    system_entry,
)
from tiltyard.units import count_of, format_ratio


def trials(findings: Findings) -> tuple[Block, ...]:
    """The table of all trials, folded; nothing where nothing was run here."""
    if not findings.planned:
        return ()
    count = len(findings.trials)
    title = f"{count_of(count, 'trial')} in the order in which they ran"
    return (Fold(title, (trial_table(findings),)),)


def trial_table(findings: Findings) -> Table:
    """A row a trial."""
    display = {one.name: one.display for one in findings.workloads}
    return Table(
        id="all-trials",
        title="All trials",
        columns=(
            Column("place"),
            Column("block"),
            Column("System", figures=False),
            Column("Workload", figures=False),
            Column("Started, UTC", figures=False),
            Column("took"),
            Column("relative to own median"),
            Column("CPU time of other processes", "%"),
            Column("Cache state", figures=False),
            Column("Outcome", figures=False),
        ),
        rows=tuple(
            _row(findings, trial, display.get(trial.workload, trial.workload))
            for trial in findings.trials
        ),
    )


def _row(findings: Findings, trial: TrialLine, workload: str) -> tuple[Entry, ...]:
    return (
        count_entry(trial.slot),
        count_entry(trial.block),
        system_entry(trial.system),
        Entry(workload),
        Entry(trial.started),
        duration_entry(trial.elapsed_s),
        MISSING if trial.relative is None else Entry(f"{trial.relative:.3f}", trial.relative),
        percent_entry(trial.foreign_share),
        Entry(trial.access) if trial.access else MISSING,
        Entry(_outcome(findings, trial), strong=trial.outcome != "done"),
    )


def _outcome(findings: Findings, trial: TrialLine) -> str:
    text = f"{trial.outcome}: {trial.reason}" if trial.reason else trial.outcome
    if findings.disturbed and trial.block in findings.disturbed.blocks:
        return f"{text}, in a disturbed block"
    return text


def disturbed(findings: Findings) -> tuple[Block, ...]:
    """Everything about disturbed blocks; nothing where none was."""
    found = findings.disturbed
    if found is None:
        return ()
    return (
        Paragraph(found.sentence, "lead"),
        Paragraph(
            "Whether a block is disturbed is decided from the host's telemetry alone, by noise "
            "limits "
            "frozen before the first trial. All its trials are kept and reported below.",
            "quiet",
        ),
        _reasons(found),
        *_by_system(found),
        *_sensitivity(found),
    )


def _reasons(found: DisturbedBlocks) -> Table:
    return Table(
        id="disturbed-blocks",
        title="Reasons",
        columns=(Column("block"), Column("Reason", figures=False)),
        rows=tuple(
            (count_entry(block), Entry("; ".join(reasons)))
            for block, reasons in found.reasons.items()
        ),
    )


def _by_system(found: DisturbedBlocks) -> tuple[Block, ...]:
    if not found.by_system:
        return ()
    table = Table(
        id="disturbed-by-system",
        title="By system",
        columns=(Column("System", figures=False), Column("blocks that a trial of it disturbed")),
        rows=tuple(
            (system_entry(system), count_entry(count)) for system, count in found.by_system.items()
        ),
    )
    if found.related_p is None:
        return (table,)
    text = f"Fisher's exact test of disturbance against system: p = {p_number(found.related_p)}"
    if found.related_p < RELATED_LEVEL:
        text += "; interference is related to the system: it is a result, not noise"
    else:
        text += f", not below {RELATED_LEVEL:g}: no relation is shown"
    return (table, Paragraph(f"{text}.", "note"))


def _sensitivity(found: DisturbedBlocks) -> tuple[Block, ...]:
    if not found.sensitivity:
        return ()
    return (
        Table(
            id="disturbed-sensitivity",
            title="With the disturbed blocks included",
            columns=(
                Column("Comparison", figures=False),
                Column("without them", figures=False),
                Column("with them", figures=False),
                Column("Verdict", figures=False),
            ),
            rows=tuple(
                (
                    Entry(line.label, strong=True),
                    Entry(line.without),
                    Entry(line.with_disturbed),
                    Entry(
                        "too few blocks"
                        if line.too_few
                        else "changed"
                        if line.changed
                        else "the same",
                        strong=line.changed,
                        quiet=not line.changed,
                    ),
                )
                for line in found.sensitivity
            ),
        ),
    )


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
    levels = (level.sentence for level in found.levels)
    yield Sentences((*levels, *(own.sentence for own in found.comparisons)))
    numbers = [line.number for line in found.lines]
    yield Table(
        id="sessions-ratios",
        title="Ratio in each session, and over sessions",
        columns=(
            Column("Comparison", figures=False),
            *(Column(line.node or f"session {line.number}") for line in found.lines),
            Column("over sessions"),
            Column("interval"),
            Column("between sessions", "%"),
            Column("within", "%"),
            Column("Verdict", figures=False),
        ),
        rows=tuple(_sessions_row(findings, own, numbers) for own in found.comparisons),
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


def _sessions_row(findings: Findings, own: OverSessions, numbers: list[int]) -> tuple[Entry, ...]:
    values = {value.session: value for value in own.values}
    return (
        Entry(f"{own.system} against {own.against}", strong=True, beneath=own.topic),
        *(
            Entry(
                format_ratio(values[number].ratio, own.sd_within or None),
                values[number].ratio,
                beneath=count_of(values[number].blocks, "block"),
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
        title="When the sessions were run",
        columns=(
            Column("session"),
            *((Column("Host", figures=False),) if _are_placed(found) else ()),
            Column("Begun (UTC)", figures=False),
            Column("Apart from the one before", figures=False),
            Column("blocks"),
            Column("State", figures=False),
            Column("Boot", figures=False, spare=True),
            Column("Seal", figures=False, spare=True),
        ),
        rows=tuple(_line(line, placed=_are_placed(found)) for line in found.lines),
        caption="A boot is named by the first digits of its random identifier, as random(4) has "
        "it; the seal of a session stands for its journal and its trials.",
    )


def _are_placed(found: Sessions) -> bool:
    return any(line.node for line in found.lines)


def _line(line: SessionLine, *, placed: bool) -> tuple[Entry, ...]:
    added = "" if line.planned else "added to the finished study"
    return (
        count_entry(line.number),
        *((Entry(line.node or "–"),) if placed else ()),
        Entry(line.began[:16].replace("T", " ") or "–"),
        Entry(line.apart or "–", beneath=added),
        count_entry(line.blocks),
        Entry(line.state),
        Entry(", ".join(boot[:8] for boot in line.boots) or "–"),
        Entry(line.seal[:12] or "–"),
    )
