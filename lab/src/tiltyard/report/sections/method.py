"""How it was measured and judged: design, order, deviations, the adjusted analysis."""

import json
from collections.abc import Iterator

from tiltyard.analysis.calibration_command import calibration_command
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.verdict import OtherAnalysis
from tiltyard.report.document import (
    Block,
    Column,
    Commands,
    Entry,
    Facts,
    Fold,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from tiltyard.report.pictures import figures
from tiltyard.report.sections.entries import (
    MISSING,
    count_entry,
    interval_entry,
    percent_entry,
    ratio_entry,
    verdict_entry,
)
from tiltyard.report.sections.ranking_table import blocks_run, stop_text, stops
from tiltyard.units import count_of


def deviations(findings: Findings) -> tuple[Block, ...]:
    """Every deviation in a sentence, or that there was none; nothing where there was no plan."""
    if not findings.planned:
        return ()
    texts = _deviation_texts(findings)
    if not texts:
        return (Paragraph("The study was run as planned."),)
    return (Sentences(texts),)


def _deviation_texts(findings: Findings) -> tuple[str, ...]:
    texts = [findings.disturbed.sentence] if findings.disturbed else []
    if findings.stopped and not findings.complete:
        texts.append(
            f"The run ended after {findings.blocks_done} of at most "
            f"{count_of(findings.blocks_planned, 'block')}: {findings.stopped}."
        )
    return (*texts, *(notice.text for notice in findings.notices if notice.deviation))


def blocks_of_systems(findings: Findings) -> tuple[Block, ...]:
    """In how many blocks each system was run, where that is not the same for all."""
    counts = blocks_run(findings)
    if not counts:
        return ()
    return (
        Paragraph("A pair that was decided at a look was not measured any further.", "quiet"),
        Table(
            id="blocks-run",
            title="Blocks run of each system",
            columns=(
                Column("Workload", figures=False),
                *(Column(system.name) for system in findings.systems),
            ),
            rows=tuple(
                (
                    Entry(workload, strong=True),
                    *(count_entry(own[system.name]) for system in findings.systems),
                )
                for workload, own in counts.items()
            ),
        ),
    )


def design(findings: Findings) -> tuple[Block, ...]:
    """Order, looks, intervals, conditions, noise limits, and why the run ended."""
    texts = [findings.design_sentence, findings.conditions_sentence]
    if findings.noise_limits_sentence:
        none = "" if findings.disturbed else " No block was disturbed."
        texts.append(f"{findings.noise_limits_sentence}{none}")
    if findings.stopped:
        texts.append(
            f"The run ended after {findings.blocks_done} of at most "
            f"{count_of(findings.blocks_planned, 'block')}: {findings.stopped}."
        )
    for workload in findings.workloads:
        texts += [own.sentence for own in (workload.steadiness, workload.replication) if own]
    return tuple(Paragraph(text) for text in texts if text)


def decided(findings: Findings) -> tuple[Section, ...]:
    """When each pair was decided, and how far each system was run; where that differs."""
    sections = [
        Section(
            f"decided-{number}",
            f"When {workload.display} was decided",
            (Sentences(tuple(stop_text(stop, findings.design.unit) for stop in found)),),
        )
        for number, workload in enumerate(findings.workloads, 1)
        if (found := stops(workload)) and findings.planned
    ]
    shrunk = blocks_of_systems(findings)
    if shrunk:
        sections.append(Section("blocks", "Blocks run of each system", shrunk))
    return tuple(sections)


def calibration(findings: Findings) -> tuple[Block, ...]:
    """What is known of how small a difference this host shows."""
    if findings.clock == "instructions":
        return (Paragraph("Instructions were counted: a calibration of time does not apply."),)
    found = findings.calibration
    command = calibration_command(findings.where)
    if found is None and not command:
        text = "A calibration is of one host, and this study was measured on "
        return (Paragraph(f"{text}{findings.where}."),)
    if found is None:
        host = "This host" if findings.where == "this host" else findings.where
        return (
            Paragraph(
                f"{host} was not calibrated when the study was run: {command} measures the "
                "rate of false positives and which known differences are found."
            ),
        )
    return (
        Paragraph(found.sentence),
        Facts((("calibration", found.id), ("made", found.date))),
    )


def host(findings: Findings) -> tuple[Block, ...]:
    """The machine in short, as far as it is known."""
    return (Facts(tuple(findings.host.items())),) if findings.host else ()


def workload(found: WorkloadFindings) -> tuple[Block, ...]:
    """Who made a workload first, what is timed, and with which parameters."""
    blocks: list[Block] = []
    if found.lineage:
        blocks.append(Paragraph(found.lineage))
    if found.timing:
        blocks.append(Paragraph(f"What is timed: {found.timing}"))
    if found.commands:
        blocks.append(Commands(found.commands, "Command lines"))
    if found.effective:
        blocks.append(Fold("Effective parameters", (parameters(found),)))
    return tuple(blocks)


def parameters(found: WorkloadFindings) -> Facts:
    """Every parameter as it was in force."""
    return Facts(tuple((name, _parameter(value)) for name, value in found.effective.items()))


def _parameter(value: object) -> str:
    """A text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def order(findings: Findings) -> tuple[Block, ...]:
    """The sentences on drift, and a picture a workload."""
    return (
        *(Paragraph(drift.sentence) for drift in findings.drifts),
        *(
            figure
            for workload in findings.workloads
            for figure in figures(findings, workload, "order", workload.display)
        ),
    )


NAMED = "the verdict"
"""Mark of the analysis that was named beforehand."""


def adjusted(findings: Findings) -> tuple[Block, ...]:
    """Both analyses of each workload as a whole; nothing where there is one only."""
    rows = tuple(_rows(findings))
    if not rows:
        return ()
    named, other = findings.design.verdict, _other(findings)
    texts = f"The verdicts of this study are {named}, as declared before the first trial."
    return (
        Paragraph(f"{texts} The {other} ones are shown for comparison and decide nothing."),
        Table(
            id="adjusted",
            title="Both analyses",
            columns=(
                Column("Workload", figures=False),
                Column("Comparison", figures=False),
                *_columns(named, NAMED),
                *_columns(other, ""),
                Column("variance explained", "%"),
            ),
            rows=rows,
            caption="Adjusted: corrected by regression for CPU time of other processes and "
            "steal time "
            "on the CPUs that measure. Variance explained: of the differences, block by block. "
            "A comparison of which only one analysis could be computed is not listed.",
        ),
    )


def beside_sentences(findings: Findings) -> Iterator[tuple[str, str]]:
    """The other analysis of each comparison with the baseline: which it is, and it in words.

    Nothing of comparisons that neither has an interval of.
    """
    for _, found, beside in _both(findings):
        told = found.low is not None or beside.low is not None
        if told and findings.baseline in (found.system, found.against):
            yield beside.analysis.capitalize(), beside.sentence


def _other(findings: Findings) -> str:
    return "adjusted" if findings.design.verdict == "unadjusted" else "unadjusted"


def _columns(analysis: str, mark: str) -> tuple[Column, ...]:
    head = f"{analysis} ({mark})" if mark else analysis
    return (
        Column("ratio", under=head),
        Column("interval", under=head),
        Column("Verdict", figures=False, under=head),
    )


def _both(findings: Findings) -> Iterator[tuple[str, Comparison, OtherAnalysis]]:
    for workload in findings.workloads:
        for found in workload.index.comparisons:
            if found.beside is not None:
                yield workload.display, found, found.beside


def _rows(findings: Findings) -> Iterator[tuple[Entry, ...]]:
    for workload, found, beside in _both(findings):
        yield (
            Entry(workload),
            Entry(f"{found.system} against {found.against}", strong=True),
            *_judged(found, findings),
            *_judged(beside, findings),
            percent_entry(beside.explained),
        )


def _judged(found: Comparison | OtherAnalysis, findings: Findings) -> Iterator[Entry]:
    yield MISSING if found.ratio is None else ratio_entry(found)
    yield interval_entry(found)
    yield verdict_entry(found, findings)
