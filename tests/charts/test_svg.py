"""What single pictures show, in the drawn picture itself."""

from support.judged import disturbed
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.analysis.model import Findings
from tiltyard.charts import effects, order, ranking
from tiltyard.charts.chart import WIDE_PX, Chart
from tiltyard.charts.svg import to_svg


def drawn(chart: Chart, findings: Findings) -> str:
    """The picture of the first workload for which the chart is drawn."""
    for workload in findings.workloads:
        spec = chart.draw(findings, workload, WIDE_PX)
        if spec is not None:
            return to_svg(spec, chart.alt(findings, workload))
    raise AssertionError(f"{chart.name} is never drawn")


def test_figures_are_printed_as_they_are(findings: Findings) -> None:
    picture = drawn(ranking.CHART, findings)
    for standing in findings.workloads[0].index.standings:
        if standing.comparison is not None:
            said = f"{ratio_text(standing.comparison)} ({interval_text(standing.comparison)})"
            assert said in picture


def test_every_block_is_a_dot(findings: Findings) -> None:
    dots = drawn(ranking.CHART, findings).count("<circle")
    assert dots == sum(
        len(standing.comparison.differences)
        for standing in findings.workloads[0].index.standings
        if standing.comparison is not None
    )


def test_a_disturbed_block_is_tinted(findings: Findings) -> None:
    tint = 'fill="var(--worse-2)"'
    assert tint not in drawn(order.CHART, findings)
    marked = findings.model_copy(update={"disturbed": disturbed(findings)})
    assert drawn(order.CHART, marked).count(tint) == len(disturbed(findings).blocks)


def test_effects_that_are_not_decided_are_hollow(findings: Findings) -> None:
    picture = drawn(effects.CHART, findings)
    verdicts = [effect.verdict for w in findings.workloads for effect in w.effects]
    assert picture.count('fill="var(--paper)"') == verdicts.count("undecided") > 0
    assert picture.count('fill="var(--ink)" stroke="var(--ink)"') == verdicts.count("faster") + (
        verdicts.count("slower")
    )
