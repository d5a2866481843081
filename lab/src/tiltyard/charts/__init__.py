"""Findings to pictures: one file a chart, and one line in the list below.

A chart is a pure function from findings to a Vega-Lite specification and a sentence that stands
for the picture where it cannot be seen. Nothing here renders but :mod:`tiltyard.charts.svg`.
"""

from tiltyard.charts import bars, curves, differences, effects, order, overview, ranking, values
from tiltyard.charts.chart import Chart

CHARTS: tuple[Chart, ...] = (
    ranking.CHART,
    overview.CHART,
    effects.CHART,
    curves.CHART,
    differences.CHART,
    values.CHART,
    bars.CHART,
    order.CHART,
)
"""All charts in the order in which a reader meets them."""
