"""Findings to pictures: one file a chart, and one line in the list below.

A chart is a pure function from findings to a Vega-Lite specification and a sentence that stands
for the picture where it cannot be seen. Its file says in which places of the reports it hangs.
Nothing here renders but :mod:`tiltyard.charts.svg`.
"""

from tiltyard.charts import (
    bars,
    curves,
    effects,
    families,
    forest,
    maps,
    means,
    order,
    overview,
    percentiles,
    ranking,
    relatives,
    surfaces,
    wins,
)
from tiltyard.charts.chart import AnyChart

CHARTS: tuple[AnyChart, ...] = (
    ranking.CHART,
    overview.FOREST,
    relatives.CHART,
    wins.CHART,
    bars.SMALL_MULTIPLES,
    overview.CHART,
    effects.CHART,
    curves.CHART,
    maps.DIFFERENCES,
    maps.VALUES,
    means.CHART,
    bars.CHART,
    bars.CELLS,
    bars.GROUPS,
    percentiles.CHART,
    order.CHART,
    surfaces.CHART,
    families.CHART,
    forest.CHART,
)
"""All charts, in the order in which a reader meets them."""
