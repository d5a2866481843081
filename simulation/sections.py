"""The sections of the document, in their order."""

from typing import Any, Final

from simulation import (
    across,
    adjusting,
    bins,
    comparisons,
    failures,
    families,
    forecasts,
    gates,
    growth,
    headlines,
    imports,
    laws,
    levels,
    nodes,
    orders,
    rare,
    repeated,
    rounded,
    sessions,
    shared,
    studies,
    watching,
)
from simulation.section import Section

SECTIONS: Final[tuple[Section[Any], ...]] = (
    comparisons.SECTION,
    watching.SECTION,
    growth.SECTION,
    laws.SECTION,
    levels.SECTION,
    orders.SECTION,
    families.SECTION,
    studies.SECTION,
    headlines.SECTION,
    sessions.SECTION,
    shared.SECTION,
    nodes.SECTION,
    across.SECTION,
    rare.SECTION,
    failures.SECTION,
    forecasts.SECTION,
    adjusting.SECTION,
    imports.SECTION,
    rounded.SECTION,
    bins.SECTION,
    repeated.SECTION,
    gates.SECTION,
)
