"""Headline comparisons by both analyses: as they are, and adjusted for what others did."""

from collections.abc import Iterator

from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.verdict import Beside
from tiltyard.report.document import Block, Column, Entry, Paragraph, Table
from tiltyard.report.sections.comparing import interval_entry, ratio_entry, verdict_entry
from tiltyard.report.sections.printing import MISSING, percent_entry

NAMED = "the verdict"
"""Mark of the analysis that was named beforehand."""


def adjusted(findings: Findings) -> tuple[Block, ...]:
    """Both analyses of each workload as a whole; nothing where there is one only."""
    rows = tuple(_rows(findings))
    if not rows:
        return ()
    named, other = findings.design.verdict, _other(findings)
    told = f"The verdicts of this study are {named}, as was named before the first trial."
    return (
        Paragraph(f"{told} The {other} ones stand beside them and decide nothing."),
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
            caption="Adjusted: less what goes with CPU time of others and time that the hypervisor "
            "took, on the CPUs that measure. Variance explained: of the differences, block by "
            "block.",
        ),
    )


def beside_sentences(findings: Findings) -> Iterator[tuple[str, str]]:
    """The other analysis of each comparison with the baseline: which it is, and it in words."""
    for _, found, beside in _both(findings):
        if findings.baseline in (found.system, found.against):
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


def _both(findings: Findings) -> Iterator[tuple[str, Comparison, Beside]]:
    for workload in findings.workloads:
        for found in workload.index.comparisons:
            if found.beside is not None:
                yield workload.name, found, found.beside


def _rows(findings: Findings) -> Iterator[tuple[Entry, ...]]:
    for workload, found, beside in _both(findings):
        yield (
            Entry(workload),
            Entry(f"{found.system} against {found.against}", strong=True),
            *_judged(found, findings),
            *_judged(beside, findings),
            percent_entry(beside.explained),
        )


def _judged(found: Comparison | Beside, findings: Findings) -> Iterator[Entry]:
    yield MISSING if found.ratio is None else ratio_entry(found)
    yield interval_entry(found)
    yield verdict_entry(found, findings)
