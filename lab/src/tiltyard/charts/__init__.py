"""Findings to pictures: one file a chart, and one line in the list below.

A chart is a pure function from findings to a Vega-Lite specification and a sentence that stands
for the picture where it cannot be seen. Nothing here renders but :mod:`tiltyard.charts.svg`.
"""

from tiltyard.charts import (
    bars,
    cells,
    curves,
    differences,
    effects,
    families,
    groups,
    means,
    order,
    overview,
    percentiles,
    radar,
    ranking,
    relatives,
    surfaces,
    tests,
    values,
    wins,
)
from tiltyard.charts.chart import Chart, StudyChart, SystemChart

CHARTS: tuple[Chart, ...] = (
    ranking.CHART,
    overview.CHART,
    effects.CHART,
    curves.CHART,
    differences.CHART,
    values.CHART,
    bars.CHART,
    percentiles.CHART,
    order.CHART,
    groups.CHART,
    cells.CHART,
    means.CHART,
    surfaces.CHART,
)
"""Charts of a workload in the order in which a reader meets them; those with the place ``chosen``
hang only where a style asks for them."""

SYSTEM_CHARTS: tuple[SystemChart, ...] = (families.CHART,)
"""Charts of one system's grid, for styles to choose from."""

STUDY_CHARTS: tuple[StudyChart, ...] = (
    tests.CHART,
    relatives.CHART,
    wins.CHART,
    radar.CHART,
)
"""Charts of all workloads together, for styles to choose from."""
