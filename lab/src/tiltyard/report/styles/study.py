"""The style of the laboratory: answer, one picture, then all the evidence."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import theme
from tiltyard.report.document import Block, Document, Fold, Paragraph, Section
from tiltyard.report.pictures import answer_picture, figures
from tiltyard.report.sections import method, systems, verdict
from tiltyard.report.sections.axis_table import advantage_tables, judged_cells
from tiltyard.report.sections.cells import (
    absolute,
    clients,
    details,
    ends,
    every_pair,
    grid_tables,
    latencies,
)
from tiltyard.report.sections.claim_blocks import audit, effects, observations, overview
from tiltyard.report.sections.method import adjusted, deviations, order
from tiltyard.report.sections.results import run_time_table
from tiltyard.report.sections.studies import studies
from tiltyard.report.sections.systems import byline, colophon, origin, sources
from tiltyard.report.sections.trials import disturbed, sessions, trials
from tiltyard.report.sections.verdict import limits, losses, twelve_rules
from tiltyard.report.styles.style import Style, known
from tiltyard.units import count_of


def workload_section(findings: Findings, workload: WorkloadFindings, id: str) -> Section:
    """The whole section: answer first, every cell last."""
    parts = (
        ("observations", "Further findings", observations(workload)),
        ("effects", "Effects of the factors", effects(findings, workload)),
        ("overview", "Overview", overview(findings, workload)),
        ("values", "Values", _values(findings, workload)),
        ("losses", "Wins and losses", losses(findings, workload)),
        ("clients", "Clients", clients(findings, workload)),
        ("ends", "Client and server", ends(findings, workload)),
        ("figures", "Absolute values", _figures(findings, workload)),
    )
    about = (Paragraph(workload.about, "quiet"),) if workload.about else ()
    return Section(
        id,
        workload.display,
        (Paragraph(workload.answer, "lead"), *about),
        tuple(Section(f"{id}-{name}", title, blocks) for name, title, blocks in parts if blocks),
        detail=True,
    )


def _values(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Pictures of the grid, then its tables along a course, then single operations."""
    grids = grid_tables(findings, workload)
    folded = (Fold(f"The same in numbers ({len(grids)} tables)", grids),) if grids else ()
    return (
        *figures(findings, workload, "grid"),
        *folded,
        *advantage_tables(findings, workload),
        *latencies(findings, workload),
    )


def _figures(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every block as a point, further measurements, and every cell."""
    cells = judged_cells(workload)
    blocks: list[Block] = [
        *figures(findings, workload, "values"),
        *details(findings, workload),
    ]
    if cells:
        blocks.append(
            Fold("Every cell and every system, in absolute values", absolute(findings, workload))
        )
    if any(cell.comparisons for cell in cells):
        count = count_of(len(cells), "cell")
        blocks.append(
            Fold(
                f"Every cell and every pair, in numbers and sentences ({count})",
                every_pair(findings, workload),
            )
        )
    return tuple(blocks)


def compose(findings: Findings) -> Document:
    """The whole report of a study, as far as there is content."""
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
            *verdict.headline(findings),
            *verdict.decision(findings),
            *answer_picture(findings),
            *verdict.numbers(findings),
        ),
        sections=tuple(one for one in sections if one.blocks or one.sections),
        colophon=colophon(findings),
    )


def _verdicts(findings: Findings) -> Iterator[Section]:
    """Who is ahead, workload by workload, in figures and in words."""
    yield Section("studies", "The studies", studies(findings))
    yield Section(
        "verdict",
        "The verdict",
        (),
        tuple(
            Section(f"verdict-{number}", workload.display, blocks, detail=True)
            for number, workload in enumerate(findings.workloads, 1)
            if (blocks := verdict.ranking(findings, workload))
        ),
    )


def _evidence(findings: Findings) -> Iterator[Section]:
    """Everything that the verdicts rest on."""
    yield Section("audit", "Consistency check of the source", audit(findings))
    yield Section("adjusted", "Adjusted for interference", adjusted(findings))
    yield Section("order", "Order of trials", order(findings))
    yield Section("sessions", "Sessions", sessions(findings))
    yield Section("disturbed", "Disturbed blocks", disturbed(findings))
    yield Section(
        "systems",
        "Systems and their differences",
        systems.differences(findings),
        systems.systems(findings),
        appendix=True,
    )
    yield _method(findings)
    yield systems.as_script(findings)
    yield Section("deviations", "Deviations from the plan", deviations(findings))
    yield Section("limits", "Limitations", limits(findings))
    yield Section("rules", "The rules of reporting", twelve_rules(findings), appendix=True)
    times = known(run_time_table(findings))
    yield Section("trials", "All trials", (*times, *trials(findings)), appendix=True)
    yield _record(findings)


def _method(findings: Findings) -> Section:
    parts = (
        ("origin", "Where the values come from", origin(findings)),
        ("calibration", "Calibration", method.calibration(findings) if findings.planned else ()),
        ("host", "Host", method.host(findings)),
        *(
            (f"method-{number}", workload.display, method.workload(workload))
            for number, workload in enumerate(findings.workloads, 1)
        ),
    )
    return Section(
        "method",
        "How it was measured",
        (*method.design(findings), Paragraph(sources(findings), "quiet")),
        (
            *method.decided(findings),
            *(
                Section(id, title, blocks, detail=id.startswith("method-"))
                for id, title, blocks in parts
                if blocks
            ),
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
                "As recorded when the run was started. What the host does not report is not "
                "available.",
                "quiet",
            ),
            *systems.record(findings),
        ),
        systems.other_records(findings),
        appendix=True,
    )


STYLE = Style(
    name="study",
    about="the answer first, then all the evidence",
    compose=compose,
)
