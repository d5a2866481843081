"""A white paper: key findings, a summary with deltas, then appendices with everything else."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import theme
from tiltyard.report.document import Block, Document, Paragraph, Section
from tiltyard.report.pictures import answer_picture, figures
from tiltyard.report.sections import method
from tiltyard.report.sections.axis_table import delta_tables
from tiltyard.report.sections.cells import grid_tables
from tiltyard.report.sections.claim_blocks import (
    about_workloads,
    audit_in_short,
    key_findings,
    sentences,
)
from tiltyard.report.sections.entries import place
from tiltyard.report.sections.method import adjusted, order
from tiltyard.report.sections.results import all_results
from tiltyard.report.sections.systems import (
    as_script,
    byline,
    colophon,
    differences,
    facts,
    origin,
    sources,
    system_commands,
)
from tiltyard.report.sections.trials import sessions
from tiltyard.report.sections.verdict import box, headline
from tiltyard.report.styles.style import Style, known, with_content
from tiltyard_press.sections.summary import (
    cells_table,
    factor_tables,
    firsts_table,
    summary_table,
    tests_table,
)


def compose(findings: Findings) -> Document:
    """The whole white paper."""
    return Document(
        style="whitepaper",
        title=findings.question,
        subtitle=f"Decision: {findings.decide}" if findings.decide else "",
        byline=byline(findings),
        signs=theme.signs(findings),
        front=(*headline(findings), *answer_picture(findings)),
        sections=with_content((*_body(findings), *_appendices(findings))),
        colophon=colophon(findings),
    )


def _body(findings: Findings) -> Iterator[Section]:
    yield Section("key-findings", "Key findings", _key(findings))
    yield Section("summary-of-results", "Summary", _summary(findings))
    for workload in findings.workloads:
        own = place(findings, workload)
        yield Section(
            f"findings-{own}", workload.display, _workload(findings, workload), detail=True
        )
    yield Section("cell-by-cell", "Cell by cell", known(firsts_table(findings)))
    yield Section("sessions", "Sessions", sessions(findings))
    yield Section("what-was-tested", "What was tested", _tested(findings))
    yield Section("limits", "Limitations", box(findings))
    yield Section("audit", "Consistency check of the source", audit_in_short(findings))


def _appendices(findings: Findings) -> Iterator[Section]:
    yield Section(
        "configuration",
        "Configuration",
        (
            *method.host(findings),
            *facts(findings),
            *differences(findings),
            *system_commands(findings),
        ),
        appendix=True,
    )
    yield _method(findings)
    yield Section("charts", "Charts", (), _charts(findings), appendix=True)
    yield Section("tables", "Tables", (), _tables(findings), appendix=True)
    yield as_script(findings)


def _key(findings: Findings) -> tuple[Block, ...]:
    return (*key_findings(findings), *known(tests_table(findings)))


def _summary(findings: Findings) -> tuple[Block, ...]:
    return (
        *known(summary_table(findings)),
        *figures(findings, None, "whitepaper summary"),
        *factor_tables(findings),
    )


def _workload(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Sentences, the picture of the values, and along a dimension its table."""
    if not workload.cells:
        return ()
    about = (Paragraph(workload.about, "quiet"),) if workload.about else ()
    return (
        *about,
        *sentences(findings, "lead", "average", workload=workload),
        *figures(findings, workload, "whitepaper workload", named=True),
        *delta_tables(findings, workload),
        *sentences(findings, "ahead", "first", workload=workload),
        *known(cells_table(findings, workload)),
    )


def _tested(findings: Findings) -> tuple[Block, ...]:
    """What each workload is; with which parameters stands in appendix B."""
    return about_workloads(findings)


def _method(findings: Findings) -> Section:
    """How it was judged, then each workload, the order of the trials, and the source."""
    workloads = (
        Section(f"method-{place(findings, own)}", own.display, method.workload(own), detail=True)
        for own in findings.workloads
    )
    parts = (
        *workloads,
        Section("adjusted", "Adjusted for interference", adjusted(findings)),
        Section("order", "Order of trials", order(findings)),
        Section("source", "Source", origin(findings)),
    )
    return Section(
        "how-we-tested",
        "How we tested",
        (*method.design(findings), Paragraph(sources(findings), "note")),
        with_content(parts),
        appendix=True,
    )


def _charts(findings: Findings) -> tuple[Section, ...]:
    return tuple(
        Section(f"charts-{place(findings, workload)}", workload.display, drawn, detail=True)
        for workload in findings.workloads
        if (drawn := _drawn(findings, workload))
    )


def _drawn(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Differences where some are decided, then all values: maps, surfaces, lines."""
    decided = any(workload.tally[verdict] for verdict in ("faster", "slower", "equivalent"))
    return (
        *(figures(findings, workload, "whitepaper decided charts", named=True) if decided else ()),
        *figures(findings, workload, "whitepaper charts", named=True),
    )


def _tables(findings: Findings) -> tuple[Section, ...]:
    """Every grid as numbers; what has no grid in one table."""
    grids = {workload.name: grid_tables(findings, workload) for workload in findings.workloads}
    sections = [
        Section(
            f"tables-{place(findings, workload)}",
            workload.display,
            grids[workload.name],
            detail=True,
        )
        for workload in findings.workloads
        if grids[workload.name]
    ]
    rest = [workload for workload in findings.workloads if not grids[workload.name]]
    if any(workload.cells for workload in rest):
        table = all_results(findings, rest)
        title = "All other values" if sections else "All values"
        sections.append(Section("tables-others", title, (table,)))
    return tuple(sections)


STYLE = Style(
    name="whitepaper",
    about="key findings and a summary with deltas; appendices: configuration, method, "
    "charts, tables",
    compose=compose,
)
