"""How it was measured: design, conditions, gates, when it was decided, host, timing."""

import json

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Block, Commands, Facts, Fold, Paragraph, Section, Sentences
from tiltyard.report.judgement import stop_text, stops
from tiltyard.report.sections.deviations import blocks_of_systems


def design(findings: Findings) -> tuple[Block, ...]:
    """Order, looks, intervals, conditions, gates, and why the run ended."""
    told = [findings.design_sentence, findings.conditions_sentence]
    if findings.gates_sentence:
        none = "" if findings.spoiled else " No block was spoiled."
        told.append(f"{findings.gates_sentence}{none}")
    if findings.stopped:
        told.append(
            f"The run ended after {findings.blocks_done} of at most {findings.blocks_planned} "
            f"blocks: {findings.stopped}."
        )
    for workload in findings.workloads:
        told += [own.sentence for own in (workload.steadiness, workload.replication) if own]
    return tuple(Paragraph(text) for text in told if text)


def decided(findings: Findings) -> tuple[Section, ...]:
    """When each pair was decided, and how far each system was run; where that differs."""
    sections = [
        Section(
            f"decided-{number}",
            f"When {workload.name} was decided",
            (Sentences(tuple(stop_text(stop, findings.design.unit) for stop in found)),),
        )
        for number, workload in enumerate(findings.workloads, 1)
        if (found := stops(workload)) and not findings.origin
    ]
    shrunk = blocks_of_systems(findings)
    if shrunk:
        sections.append(Section("blocks", "How far each system was run", shrunk))
    return tuple(sections)


def calibration(findings: Findings) -> tuple[Block, ...]:
    """What is known of how small a difference this host shows."""
    if findings.clock == "instructions":
        told = "Instructions were counted, not time: a calibration of this host's noise says "
        return (Paragraph(f"{told}nothing of them."),)
    found = findings.calibration
    if found is None:
        return (
            Paragraph(
                "This host was not calibrated when the study was run: how often the rules name a "
                "false winner here, and which known differences they find, is shown by "
                "tiltyard calibrate."
            ),
        )
    return (
        Paragraph(found.sentence),
        Facts((("calibration", found.id), ("made", found.date))),
    )


def host(findings: Findings) -> tuple[Block, ...]:
    """The machine in short, as far as it is told."""
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
