"""A result page: the ranking over all tests, then one chart and one table for each test."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts import theme
from tiltyard.report.document import Block, Document, Facts, Fold, Paragraph, Section
from tiltyard.report.pictures import answer_picture, figures
from tiltyard.report.sections import method
from tiltyard.report.sections.claim_blocks import audit_in_short, sentences
from tiltyard.report.sections.entries import place
from tiltyard.report.sections.method import adjusted
from tiltyard.report.sections.results import (
    all_results,
    overall_table,
    relative_table,
    test_tables,
)
from tiltyard.report.sections.systems import as_script, byline, colophon, differences, facts, origin
from tiltyard.report.sections.trials import sessions
from tiltyard.report.sections.verdict import box, headline
from tiltyard.report.styles.style import Style, known, with_content
from tiltyard_press.sections.summary import tests_table


def compose(findings: Findings) -> Document:
    """The whole page."""
    return Document(
        style="results",
        title=findings.question,
        byline=byline(findings),
        signs=theme.signs(findings),
        front=(*headline(findings), *answer_picture(findings), _counts(findings)),
        sections=with_content(_sections(findings)),
        colophon=colophon(findings),
    )


def _sections(findings: Findings) -> Iterator[Section]:
    yield Section("overview", "All tests", _overview(findings))
    asked = crossing(findings)
    title = f"By {asked.factor}: against {asked.base}"
    yield Section("against", title, known(relative_table(findings), tests_table(findings)))
    yield Section(
        "test-by-test",
        "Test by test",
        (),
        tuple(
            Section(
                f"result-{place(findings, workload)}",
                workload.display,
                _test(findings, workload),
                detail=True,
            )
            for workload in findings.workloads
            if workload.cells
        ),
    )
    yield Section("everything", "All results", _everything(findings))
    yield Section("sessions", "Sessions", sessions(findings))
    yield Section("adjusted", "Adjusted for interference", adjusted(findings))
    yield Section("system-table", "Systems", _systems(findings))
    yield Section("audit", "Consistency check of the source", audit_in_short(findings))
    yield Section(
        "limits", "Limitations", (*box(findings), Paragraph(findings.design_sentence, "quiet"))
    )
    yield as_script(findings)


def _counts(findings: Findings) -> Facts:
    cells = sum(len(workload.cells) for workload in findings.workloads)
    return Facts(
        (
            ("systems", str(len(findings.systems))),
            ("workloads", str(len(findings.workloads))),
            ("cells compared", f"{cells:,}"),
        ),
        large=True,
    )


def _overview(findings: Findings) -> tuple[Block, ...]:
    return (
        *sentences(findings, "standing"),
        *figures(findings, None, "results overview"),
        *known(overall_table(findings)),
    )


def _test(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The chart has all values; the table repeats them for those who copy."""
    about = (Paragraph(workload.about, "quiet"),) if workload.about else ()
    drawn = figures(findings, workload, "results workload", named=True)[:1]
    tables = test_tables(findings, workload)
    shown = (Fold("The same in numbers", tables),) if drawn and tables else tables
    return (*about, *drawn, *shown)


def _everything(findings: Findings) -> tuple[Block, ...]:
    found = [workload for workload in findings.workloads if workload.cells]
    return (all_results(findings, found),) if found else ()


def _systems(findings: Findings) -> tuple[Block, ...]:
    return (
        *method.host(findings), *facts(findings), *differences(findings), *origin(findings)
    )  # fmt: skip


STYLE = Style(
    name="results",
    about="ranking over all tests, then a chart and a table for each test; systems last",
    compose=compose,
)
