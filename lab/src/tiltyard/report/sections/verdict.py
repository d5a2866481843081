"""What is read first: the answer, who is ahead, three numbers."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report import judgement
from tiltyard.report.document import Block, Callout, Facts, Paragraph
from tiltyard.report.pictures import figures
from tiltyard.report.sections.ids import place
from tiltyard.report.sections.standings import pairs, standings
from tiltyard.units import format_number


def answer(findings: Findings) -> tuple[Block, ...]:
    """The answer of each workload, why it was asked, and what must be known to believe it."""
    blocks: list[Block] = [Paragraph(own.answer, "lead") for own in findings.workloads]
    if findings.decide:
        blocks.append(Paragraph(f"Asked in order to: {findings.decide}", "quiet"))
    return (*blocks, *_unfinished(findings), *problems(findings))


def problems(findings: Findings) -> tuple[Block, ...]:
    """Notices that nobody may overlook."""
    return tuple(
        Callout(
            "problem",
            "Problem",
            (Paragraph(" ".join(filter(None, (notice.text, notice.advice)))),),
        )
        for notice in findings.notices
        if notice.severity == "problem"
    )


def pictures(findings: Findings) -> tuple[Block, ...]:
    """Who is ahead: a ranked picture a workload."""
    return tuple(
        figure
        for workload in findings.workloads
        for figure in figures(findings, workload, "verdict", workload.index.label)
    )


def numbers(findings: Findings) -> tuple[Block, ...]:
    """What it rests on, in three numbers; of results from elsewhere there are none."""
    if findings.origin:
        return ()
    three = (
        (f"{findings.design.unit}s", str(findings.look)),
        ("trials kept", str(findings.trials_kept)),
        ("smallest difference", _smallest(findings)),
    )
    told = f"{_rests_on(findings)} {_what_shows(findings)}"
    return (Facts(three, large=True), Paragraph(told, "note"))


def ranking(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The ranked table of a workload, and its pairs in words."""
    table = standings(
        findings,
        workload.index,
        f"{place(findings, workload)}-ranking",
        f"{workload.index.label}: who is ahead",
        together=not findings.origin,
    )
    return (*table, *pairs(findings, workload.index))


def _unfinished(findings: Findings) -> Iterator[Block]:
    if findings.complete:
        return
    rest = f"Verdicts rest on {_amount(findings)}."
    if findings.stopped:
        text = f"The study ended before everything was decided: {findings.stopped}. {rest}"
    else:
        text = (
            f"This study is not finished: {findings.blocks_done} of at most "
            f"{findings.blocks_planned} blocks are done. {rest}"
        )
    yield Callout("warning", "Not finished", (Paragraph(text),))


def _rests_on(findings: Findings) -> str:
    shrunk = ", as long as anything was open there" if judgement.blocks_run(findings) else ""
    told = (
        f"The verdicts rest on {_amount(findings)}; in each, every system met every workload, in "
        f"random order{shrunk}. {findings.trials_failed} trials failed; nothing was left out"
    )
    if findings.spoiled:
        count = len(findings.spoiled.blocks)
        told += f", and {count} spoiled {'block' if count == 1 else 'blocks'} are kept and shown"
    return f"{told}."


def _amount(findings: Findings) -> str:
    """What the verdicts rest on: ``20 blocks``."""
    if not findings.look:
        return f"no {findings.design.unit}s"
    return findings.design.amount(findings.look)


def _smallest(findings: Findings) -> str:
    """What this host can show, by calibration where there is one; else how wide intervals are."""
    if findings.calibration:
        return f"{format_number(findings.calibration.resolution_percent, 2)} %"
    return _half(findings)


def _half(findings: Findings) -> str:
    typical = findings.resolution_percent
    return "–" if typical is None else f"{format_number(typical, 2)} %"


def _what_shows(findings: Findings) -> str:
    calibration = findings.calibration
    if calibration:
        told = (
            "Differences below the smallest one do not show on this host (calibration "
            f"{calibration.id}, {calibration.date[:10]})"
        )
        if findings.resolution_percent is not None:
            told += f"; half of the typical interval here is {_half(findings)}"
        return f"{told}."
    told = "The smallest difference is half of the typical interval; "
    if findings.clock == "instructions":
        return f"{told}instructions were counted, so this host's speed and noise are not in it."
    return f"{told}what this host can show is not calibrated: tiltyard calibrate."
