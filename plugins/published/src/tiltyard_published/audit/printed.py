"""Values in the digits and the unit of their source."""

from tiltyard.collected.model import CollectedMetric


def printed_number(value: float, metric: CollectedMetric) -> str:
    """A value with the digits of its source: ``5,922,869``."""
    form = metric.printed
    return f"{value:,.4g}" if form is None else f"{value / form.factor:,.{form.decimals}f}"


def printed_value(value: float, metric: CollectedMetric) -> str:
    """The same with the unit of its source: ``5,922,869 KB/s``."""
    form = metric.printed
    return f"{printed_number(value, metric)} {metric.unit if form is None else form.unit}"
