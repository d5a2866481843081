"""Every test of a study as bars, beside each other."""

from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import Spec, StudyChart
from tiltyard.charts.groups import Bars, bars_of, multiples, told

_ROOMY_PX = 600


def draw(findings: Findings, width_px: int) -> Spec | None:
    """One panel a test, two abreast where there is room."""
    found = _tests(findings)
    return (
        multiples(findings, found, width_px, 2 if width_px >= _ROOMY_PX else 1) if found else None
    )


def alt(findings: Findings) -> str:
    """Every value."""
    return f"One picture a test, bars from zero. {told(_tests(findings))}"


def _tests(findings: Findings) -> list[Bars]:
    return [bars for workload in findings.workloads for bars in bars_of(workload)]


CHART = StudyChart(
    name="tests",
    title="Test by test",
    caption="Bars begin at zero; the value stands at the end of each, with the number N of "
    "measurements where it is known.",
    draw=draw,
    alt=alt,
)
