"""Pictures that a style asks for by name of the chart, rather than by the room they hang in."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Chart, StudyChart, SystemChart
from tiltyard.report.document import Figure
from tiltyard.report.sections.ids import place, slugs


def of_workload(
    findings: Findings, workload: WorkloadFindings, *charts: Chart
) -> tuple[Figure, ...]:
    """Those of the charts that suit the workload."""
    return tuple(
        Figure(
            id=f"figure-{place(findings, workload)}-{chart.name}",
            title=f"{workload.name}: {title[:1].lower()}{title[1:]}",
            caption=caption,
            alt=chart.alt(findings, workload),
            wide=wide,
            narrow=chart.draw(findings, workload, NARROW_PX),
        )
        for chart in charts
        for title, caption in [chart.words(findings)]
        if (wide := chart.draw(findings, workload, WIDE_PX)) is not None
    )


def of_systems(
    findings: Findings, workload: WorkloadFindings, chart: SystemChart
) -> tuple[Figure, ...]:
    """A picture a system, all to the same scales."""
    ids = slugs(system.name for system in findings.systems)
    return tuple(
        Figure(
            id=f"figure-{place(findings, workload)}-{chart.name}-{ids[system.name]}",
            title=f"{workload.name}, {system.name}",
            caption=chart.caption if number == 0 else "",
            alt=chart.alt(findings, workload, system.name),
            wide=wide,
            narrow=chart.draw(findings, workload, system.name, NARROW_PX),
        )
        for number, system in enumerate(findings.systems)
        if (wide := chart.draw(findings, workload, system.name, WIDE_PX)) is not None
    )


def of_study(findings: Findings, *charts: StudyChart) -> tuple[Figure, ...]:
    """Those of the charts that suit the study."""
    return tuple(
        Figure(
            id=f"figure-{chart.name}",
            title=chart.title,
            caption=chart.caption,
            alt=chart.alt(findings),
            wide=wide,
            narrow=chart.draw(findings, NARROW_PX),
        )
        for chart in charts
        if (wide := chart.draw(findings, WIDE_PX)) is not None
    )
