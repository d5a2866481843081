"""What a printed study can state: one file a kind, and one line in the registry below.

A kind says which keys such a claim has and how it is held against the printed numbers, by the rules
of :mod:`tiltyard_published.audit.outcomes`. Nothing in a claim is executed: it names what it is
about.
"""

from typing import Any, Final

from tiltyard_published.audit.kind import Kind
from tiltyard_published.audit.kinds import (
    advantage,
    arithmetic,
    columns,
    count,
    deviation,
    extent,
    extreme,
    flat,
    listed,
    mean,
    order,
    quoted,
    same,
    separated,
    similar,
    times,
    trend,
    undecidable,
)

REGISTRY: Final[tuple[Kind[Any], ...]] = (
    mean.KIND,
    advantage.KIND,
    times.KIND,
    extreme.KIND,
    order.KIND,
    similar.KIND,
    flat.KIND,
    trend.KIND,
    quoted.KIND,
    same.KIND,
    count.KIND,
    arithmetic.KIND,
    deviation.KIND,
    extent.KIND,
    listed.KIND,
    columns.KIND,
    separated.KIND,
    undecidable.KIND,
)
"""In the order of the reference page."""
