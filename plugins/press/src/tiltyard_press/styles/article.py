"""An article: purpose, system, command lines, tables with deviations, observations, conclusion."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import theme
from tiltyard.report.document import Block, Commands, Document, Facts, Paragraph, Section
from tiltyard.report.pictures import answer_picture, figures
from tiltyard.report.sections import method
from tiltyard.report.sections.claim_blocks import (
    about_workloads,
    audit_in_short,
    observations,
    overall_leads,
    sentences,
)
from tiltyard.report.sections.entries import place
from tiltyard.report.sections.method import adjusted
from tiltyard.report.sections.results import (
    mounts_of,
    overall_table,
    replicate_tables,
    run_time_table,
)
from tiltyard.report.sections.systems import (
    as_script,
    byline,
    colophon,
    differences,
    facts,
    origin,
    system_commands,
)
from tiltyard.report.sections.trials import sessions
from tiltyard.report.sections.verdict import box, headline
from tiltyard.report.styles.style import Style, known, with_content
from tiltyard_press.sections.summary import (
    firsts_table,
    spread_table,
    summary_table,
    tests_table,
)


def compose(findings: Findings) -> Document:
    """The whole article."""
    return Document(
        style="article",
        title=findings.question,
        byline=byline(findings),
        signs=theme.signs(findings),
        front=(*headline(findings), *answer_picture(findings)),
        sections=with_content(_sections(findings)),
        colophon=colophon(findings),
    )


def _sections(findings: Findings) -> Iterator[Section]:
    yield Section("purpose", "Purpose", _purpose(findings))
    yield Section("test-system", "Test system", _system(findings))
    yield Section("commands", "Command lines and parameters", _commands(findings))
    yield Section("results", "Results", known(run_time_table(findings)), _results(findings))
    yield Section("repeats", "Repeatability", _repeats(findings))
    yield Section("observations", "Observations", _observations(findings))
    yield Section("sessions", "Sessions", sessions(findings))
    yield Section("audit", "Consistency check of the source", audit_in_short(findings))
    yield Section("conclusion", "Conclusion", _conclusion(findings))
    yield Section("limits", "Limitations", box(findings))
    yield Section("source", "Source", origin(findings))
    yield as_script(findings)


def _purpose(findings: Findings) -> tuple[Block, ...]:
    decide = (Paragraph(f"Decision: {findings.decide}."),) if findings.decide else ()
    return (*decide, *about_workloads(findings))


def _system(findings: Findings) -> tuple[Block, ...]:
    return (*method.host(findings), *facts(findings), *differences(findings))


def _commands(findings: Findings) -> tuple[Block, ...]:
    """Of the workloads, then of the systems; parameters where that is all that is known."""
    blocks: list[Block] = []
    for workload in findings.workloads:
        if workload.commands:
            blocks.append(Commands(workload.commands, workload.display))
        if workload.effective:
            rows = method.parameters(workload).rows
            blocks.append(Facts(rows, f"{workload.display}: parameters"))
    return (*blocks, *system_commands(findings))


def _results(findings: Findings) -> tuple[Section, ...]:
    return tuple(
        Section(f"results-{place(findings, workload)}", workload.display, own, detail=True)
        for workload in findings.workloads
        if (own := _result(findings, workload))
    )


def _result(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    return (
        *replicate_tables(findings, workload, mounts_of(findings)),
        *figures(findings, workload, "article workload", named=True)[:1],
    )


def _repeats(findings: Findings) -> tuple[Block, ...]:
    return (*sentences(findings, "deviation"), *known(spread_table(findings)))


def _observations(findings: Findings) -> tuple[Block, ...]:
    """In words what the tables show, then the tables that the words rest on."""
    return (
        *overall_leads(findings),
        *sentences(findings, "first"),
        *(block for workload in findings.workloads for block in observations(workload)),
        *known(summary_table(findings), tests_table(findings), firsts_table(findings)),
    )


def _conclusion(findings: Findings) -> tuple[Block, ...]:
    return (
        *(Paragraph(workload.answer) for workload in findings.workloads),
        *sentences(findings, "standing"),
        *known(overall_table(findings)),
        *adjusted(findings),
        Paragraph(findings.design_sentence, "quiet"),
    )


STYLE = Style(
    name="article",
    about="purpose, system, command lines; tables of means with deviations; findings in sentences",
    compose=compose,
)
