"""The headline, what stands above it, ranking, losses, limitations, rules of reporting."""

from collections.abc import Iterator
from typing import Literal

from tiltyard.analysis.calibration_command import calibration_command
from tiltyard.analysis.line import verdict_word
from tiltyard.analysis.model import Findings, Notice, WorkloadFindings
from tiltyard.analysis.statements.disturbances import left_out
from tiltyard.analysis.statements.registry import rules
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.report.document import (
    Block,
    Callout,
    Column,
    Entry,
    Facts,
    Fold,
    Paragraph,
    Sentences,
    Table,
)
from tiltyard.report.sections.entries import (
    interval_entry,
    interval_head,
    place,
    ratio_entry,
    system_entry,
    verdict_entry,
)
from tiltyard.report.sections.ranking_table import blocks_run, pairs, ranked_table, undecided
from tiltyard.stats.planning import LIKELY_SHARE
from tiltyard.units import count_of, format_number


def headline(findings: Findings) -> tuple[Block, ...]:
    """What is read first in every style: what must be known beforehand, then the answer."""
    return (*_above(findings), Paragraph(findings.answer, "lead"))


def decision(findings: Findings) -> tuple[Block, ...]:
    """Why it was asked."""
    return (Paragraph(f"Decision: {findings.decide}", "quiet"),) if findings.decide else ()


def _above(findings: Findings) -> Iterator[Block]:
    """The warnings, a box a severity, the gravest first."""
    found = warnings(findings)
    for severity, title in _TITLES.items():
        texts = tuple(_in_full(notice) for notice in found if notice.severity == severity)
        if texts:
            yield Callout(severity, title, (Sentences(texts),))


def _in_full(notice: Notice) -> str:
    return " ".join(filter(None, (notice.text, notice.advice)))


def numbers(findings: Findings) -> tuple[Block, ...]:
    """What it rests on, in few numbers; of results from elsewhere there are none."""
    if not findings.planned:
        return ()
    own = [_blocks(findings), ("trials kept", str(findings.trials_kept))]
    texts = [_rests_on(findings)]
    if findings.calibration or findings.resolution_percent is not None:
        own.append(("smallest difference", _smallest(findings)))
        texts.append(_what_shows(findings))
    return (Facts(tuple(own), large=True), Paragraph(" ".join(texts), "note"))


def _blocks(findings: Findings) -> tuple[str, str]:
    """What the verdicts rest on; before the first look, what there is."""
    if findings.look:
        return f"{findings.design.unit}s", str(findings.look)
    return "blocks so far", str(findings.blocks_done)


def ranking(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The ranked table of a workload, and its pairs in words; the same of its CPU time."""
    asked = ((workload.index, "ranking"), (workload.cpu_time, "cpu-time"))
    return tuple(
        block
        for index, name in asked
        if index is not None
        for block in (
            *ranked_table(
                findings, index, f"{place(findings, workload)}-{name}", f"{index.label}: ranking"
            ),
            *pairs(findings, index),
        )
    )


def _rests_on(findings: Findings) -> str:
    shrunk = " until it was decided" if blocks_run(findings) else ""
    each = f"every system ran every workload in random order{shrunk}"
    text = f"No look has been reached, so there is no verdict. In each block {each}."
    if findings.look:
        text = f"The verdicts rest on {findings.design.amount(findings.look)}; in each, {each}."
    text += f" {count_of(findings.trials_failed, 'trial')} failed; {left_out(findings)}"
    if findings.disturbed:
        count = len(findings.disturbed.blocks)
        disturbed = count_of(count, "disturbed block is", "disturbed blocks are")
        text += f", and {disturbed} kept and reported"
    return f"{text}."


def _smallest(findings: Findings) -> str:
    """What this host can show, by calibration where there is one; else how wide intervals are."""
    if findings.calibration:
        return f"{format_number(findings.calibration.resolution_percent, 2)} %"
    return _by_intervals(findings)


def _by_intervals(findings: Findings) -> str:
    typical = findings.resolution_percent
    return "" if typical is None else f"{format_number(typical, 2)} %"


def _what_shows(findings: Findings) -> str:
    calibration = findings.calibration
    if calibration:
        text = (
            f"The smallest difference is one that {LIKELY_SHARE} of comparisons find on "
            f"{findings.where} "
            f"(calibration {calibration.id}, {calibration.date[:10]})"
        )
        if findings.resolution_percent is not None:
            text += f"; by the intervals here it is {_by_intervals(findings)}"
        return f"{text}."
    text = f"The smallest difference is one that {LIKELY_SHARE} of such studies find; "
    if findings.clock == "instructions":
        return (
            f"{text}instructions were counted, so it does not depend on this host's speed "
            "and noise."
        )
    if not (command := calibration_command(findings.where)):
        return f"{text}a calibration is of one host, not of {findings.where}."
    return f"{text}{findings.where} is not calibrated ({command})."


_TITLES: dict[Literal["problem", "warning", "note"], str] = {
    "problem": "Problems",
    "warning": "Warnings",
    "note": "Notes",
}


def limits(findings: Findings) -> tuple[Block, ...]:
    """A box with every notice, the gravest first; then what stays undecided."""
    return (*box(findings), *open_comparisons(findings))


def box(findings: Findings) -> tuple[Block, ...]:
    """All notices, a box a severity; of results from elsewhere they are the limits."""
    if not findings.notices:
        return (Paragraph("No problems found."),)
    boxes = []
    for severity, title in _TITLES.items():
        texts = tuple(
            _in_full(notice) for notice in findings.notices if notice.severity == severity
        )
        if texts and not findings.planned:
            boxes.append(Callout("limits", "Limitations of these data", (Sentences(texts),)))
        elif texts:
            boxes.append(Callout(severity, title, (Sentences(texts),)))
    return tuple(boxes)


def open_comparisons(findings: Findings) -> tuple[Block, ...]:
    """Undecided comparisons, and how many blocks it would take."""
    found = undecided(findings)
    if not found:
        return ()
    sentences = Sentences(tuple(pair.sentence for pair in found))
    how = f", and how many {findings.unit}s it would take" if findings.planned else ""
    return (Fold(f"Undecided comparisons{how} ({len(found)})", (sentences,)),)


def twelve_rules(findings: Findings) -> tuple[Block, ...]:
    """How this very report meets the rules of Hoefler and Belli: a line a rule."""
    return (
        Table(
            id="twelve-rules",
            title="The twelve rules of Hoefler and Belli",
            columns=(
                Column("rule"),
                Column("What it asks for", figures=False),
                Column("Here", figures=False),
                Column("How", figures=False),
            ),
            rows=tuple(
                (
                    Entry(str(rule.number), float(rule.number), quiet=True),
                    Entry(rule.rule[0].upper() + rule.rule[1:]),
                    Entry(
                        rule.outcome,
                        strong=rule.outcome == "not met",
                        quiet=rule.outcome == "does not apply",
                    ),
                    Entry(rule.sentence),
                )
                for rule in rules(findings)
            ),
            caption="T. Hoefler and R. Belli, “Scientific Benchmarking of Parallel Computing "
            "Systems”, SC 2015; the rules paraphrased. Whether one is met follows from the "
            "findings.",
        ),
    )


def losses(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The cells in which it was found worse, or that there is none."""
    if not workload.index.standings:
        return ()
    best = workload.index.standings[0].system
    if not workload.losses:
        if len(workload.cells) < 2:
            return ()
        word = verdict_word("slower", findings.clock)
        text = f"{best}, first by estimate, was {word} in no cell."
        return (Paragraph(text, "quiet"),)
    worse = "needs more" if findings.clock == "instructions" else "is slower"
    return (
        Table(
            id=f"{place(findings, workload)}-losses",
            title=f"Where {best}, first by estimate, {worse}",
            columns=(
                Column("Cell", figures=False),
                Column("against", figures=False),
                Column("ratio"),
                Column(interval_head(loss.comparison.level for loss in workload.losses)),
                Column("Verdict", figures=False),
            ),
            rows=tuple(
                (
                    Entry(loss.label, strong=True),
                    system_entry(loss.comparison.against),
                    ratio_entry(loss.comparison),
                    interval_entry(loss.comparison),
                    verdict_entry(loss.comparison, findings),
                )
                for loss in workload.losses
            ),
        ),
    )
