"""The style of the laboratory: answer, one picture, then everything that it rests on."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings
from tiltyard.charts import theme
from tiltyard.report.document import Document, Paragraph, Section
from tiltyard.report.sections import method, record, systems, verdict
from tiltyard.report.sections.adjusted import adjusted
from tiltyard.report.sections.audit import audit
from tiltyard.report.sections.colophon import colophon, sources
from tiltyard.report.sections.deviations import deviations
from tiltyard.report.sections.limits import limits, twelve_rules
from tiltyard.report.sections.order import order
from tiltyard.report.sections.origin import byline, origin
from tiltyard.report.sections.sessions import sessions
from tiltyard.report.sections.spoiled import spoiled
from tiltyard.report.sections.trials import trials
from tiltyard.report.sections.workload import workload_section
from tiltyard.report.styles.style import Style


def compose(findings: Findings) -> Document:
    """The whole report of a study, as far as there is something to tell."""
    sections = (
        *_verdicts(findings),
        *(
            workload_section(findings, workload, f"workload-{number}")
            for number, workload in enumerate(findings.workloads, 1)
        ),
        *_evidence(findings),
    )
    return Document(
        style="study",
        title=findings.question,
        byline=byline(findings),
        signs=theme.signs(findings),
        front=(
            *verdict.answer(findings),
            *verdict.pictures(findings),
            *verdict.numbers(findings),
        ),
        sections=tuple(one for one in sections if one.blocks or one.sections),
        colophon=colophon(findings),
    )


def _verdicts(findings: Findings) -> Iterator[Section]:
    """Who is ahead, workload by workload, in figures and in words."""
    yield Section(
        "verdict",
        "The verdict",
        (),
        tuple(
            Section(f"verdict-{number}", workload.name, blocks)
            for number, workload in enumerate(findings.workloads, 1)
            if (blocks := verdict.ranking(findings, workload))
        ),
    )


def _evidence(findings: Findings) -> Iterator[Section]:
    """Everything that the verdicts rest on."""
    yield Section(
        "audit", "What the source claims, and what follows from its tables", audit(findings)
    )
    yield Section("adjusted", "Adjusted for what others did", adjusted(findings))
    yield Section("order", "Order of trials", order(findings))
    yield Section("sessions", "Sessions", sessions(findings))
    yield Section("spoiled", "Spoiled blocks", spoiled(findings))
    yield Section(
        "systems",
        "Systems, and what differs between them",
        systems.differences(findings),
        systems.systems(findings),
    )
    yield _method(findings)
    yield Section("deviations", "Deviations from the plan", deviations(findings))
    yield Section("limits", "Limits, and what a sceptic would ask", limits(findings))
    yield Section("rules", "The rules of reporting", twelve_rules(findings))
    yield Section("trials", "All trials", trials(findings))
    yield _record(findings)


def _method(findings: Findings) -> Section:
    parts = (
        ("origin", "Where the values come from", origin(findings)),
        ("calibration", "Calibration", () if findings.origin else method.calibration(findings)),
        ("host", "Host", method.host(findings)),
        *(
            (f"method-{number}", workload.name, method.workload(workload))
            for number, workload in enumerate(findings.workloads, 1)
        ),
    )
    return Section(
        "method",
        "How it was measured",
        (*method.design(findings), Paragraph(sources(findings), "quiet")),
        (
            *method.decided(findings),
            *(Section(id, title, blocks) for id, title, blocks in parts if blocks),
        ),
    )


def _record(findings: Findings) -> Section:
    if not findings.record:
        return Section("record", "")
    return Section(
        "record",
        "The system record of the host",
        (
            Paragraph(
                "As the host told it when the run was started. What it does not tell is not "
                "available.",
                "quiet",
            ),
            *record.record(findings),
        ),
        record.other_records(findings),
    )


STYLE = Style(
    name="study",
    about="the answer first, then everything it rests on; for those who ran it and those who doubt",
    compose=compose,
)
