"""Studies against studies: which they are, what else differs, and every comparison over them."""

from collections.abc import Iterator

from tiltyard.analysis.collected.over import compared_over
from tiltyard.analysis.line import (
    IF_NORMAL,
    another_study,
    interval_text,
    ratio_text,
    without_verdict,
    word_of,
)
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.verdict import OverStudies
from tiltyard.report.document import Block, Column, Entry, Fold, Paragraph, Sentences, Table
from tiltyard.report.pictures import figures
from tiltyard.report.sections.entries import MISSING, count_entry


def studies(findings: Findings) -> tuple[Block, ...]:
    """Everything about them; nothing where no studies are compared."""
    origin = findings.provenance
    if origin is None or not origin.studies:
        return ()
    return (
        *_pictures(findings),
        _compared(findings),
        Sentences(tuple(pair.over.sentence for _, pair in compared_over(findings) if pair.over)),
        _sources(findings),
        *_differ(findings),
    )


def _pictures(findings: Findings) -> Iterator[Block]:
    for workload in findings.workloads:
        yield from figures(findings, workload, "studies", workload.index.label)


def _compared(findings: Findings) -> Table:
    """Of pooled ones each study, then all; of two the interval within and beyond these sessions."""
    pooled = findings.unit == "study"
    rows = [
        row
        for workload, pair in compared_over(findings)
        for row in _rows(workload.index.label, pair)
    ]
    return Table(
        id="over-studies",
        title="Every comparison over the studies",
        columns=(
            Column("Comparison", figures=False),
            Column("Study", figures=False),
            Column("blocks"),
            Column("ratio"),
            Column("95 % CI of its blocks" if pooled else "95 % CI of these blocks"),
            Column("simultaneous CI over studies" if pooled else "simultaneous CI over sessions"),
            Column("verdict", figures=False),
        ),
        rows=tuple(rows),
        caption=f"{IF_NORMAL[:1].upper()}{IF_NORMAL[1:]}."
        if pooled
        else "No verdict rests on the "
        "interval of these blocks: what the sessions add is in the difference.",
    )


def _rows(topic: str, pair: Comparison) -> Iterator[tuple[Entry, ...]]:
    over = pair.over
    if over is None:
        return
    name = Entry(f"{pair.system} against {pair.against}, {topic}")
    for one in over.values:
        yield (
            name,
            Entry(one.study),
            count_entry(one.blocks),
            Entry(ratio_text(one), one.ratio),
            Entry(interval_text(one)),
            MISSING,
            MISSING,
        )
    yield (
        name,
        Entry("pooled" if over.values else "of both", strong=True),
        count_entry(sum(over.blocks)),
        Entry(ratio_text(without_verdict(pair)), pair.ratio, strong=True),
        Entry(interval_text(without_verdict(pair))),
        Entry(interval_text(pair)),
        Entry(word_of(pair, "time"))
        if pair.low is None
        else Entry(pair.verdict, kind="verdict", verdict=pair.verdict),
    )
    yield from _expected(name, over)


def _expected(name: Entry, over: OverStudies) -> Iterator[tuple[Entry, ...]]:
    if over.predicted_low is not None:
        ends = interval_text(another_study(over))
        yield name, Entry("another study"), MISSING, MISSING, Entry(ends), MISSING, MISSING


def _sources(findings: Findings) -> Table:
    return Table(
        id="compared-studies",
        title="The studies",
        columns=(
            Column("Study", figures=False),
            Column("Question", figures=False),
            Column("Began, UTC", figures=False),
            Column("blocks"),
            Column("sessions"),
        ),
        rows=tuple(
            (
                Entry(one.name, strong=True),
                Entry(one.question),
                Entry(one.began[:16].replace("T", " ")) if one.began else MISSING,
                count_entry(one.blocks) if one.blocks else MISSING,
                count_entry(one.sessions),
            )
            for one in (findings.provenance.studies if findings.provenance else ())
        ),
    )


def _differ(findings: Findings) -> Iterator[Block]:
    """What of host, settings and instrument is not as in the first study."""
    if findings.provenance is None:
        return
    first = findings.provenance.studies[0].name
    for one in findings.provenance.studies:
        if one.differs:
            title = f"What differs between {one.name} and {first} ({len(one.differs)})"
            yield Fold(title, (Sentences(one.differs),))
        elif one.name != first:
            yield Paragraph(f"{one.name} does not differ from {first} in any recorded fact.")
