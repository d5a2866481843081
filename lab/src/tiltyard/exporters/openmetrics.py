"""OpenMetrics text: for Prometheus, by way of a textfile collector or a push gateway."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tiltyard.analysis.model import Cell, Findings
from tiltyard.analysis.values import cells_of
from tiltyard.exporters.exporter import Exporter

if TYPE_CHECKING:
    from prometheus_client import Metric

UNITS: Final = {
    "B/s": "bytes_per_second",
    "1/s": "per_second",
    "s": "seconds",
    "s/B": "seconds_per_byte",
    "instr/op": "instructions_per_operation",
    "instr": "instructions",
    "1": "ratio",
}
"""Base unit → its name in metrics: OpenMetrics wants it in words, at the end."""
_LABELS: Final = ("workload", "metric", "at", "system")
_OF_VALUES: Final = (*_LABELS, "unit")
"""The unit as it is given: those that are not known may be of one name in words."""
_TYPICAL: Final = "Median over blocks; the stated mean where a source kept no values"
_SIGN = re.compile(r"[^a-z0-9]+")


class _Families:
    """The families of one study, in the form in which the client's writer asks for them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def collect(self) -> "Iterator[Metric]":
        """What the study is; then values, unit by unit; then ratios."""
        from prometheus_client.core import InfoMetricFamily

        study = {"question": self._findings.question, "plan": self._findings.plan_hash}
        yield InfoMetricFamily("tiltyard_study", "The study that the values are of", study)
        yield from self._values()
        yield self._ratios()

    def _cells(self) -> Iterator[tuple[str, Cell]]:
        for workload in self._findings.workloads:
            yield from ((workload.name, cell) for cell in cells_of(workload))

    def _values(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        for unit in dict.fromkeys(_name(cell.unit) for _, cell in self._cells()):
            families = [
                GaugeMetricFamily(f"tiltyard_{name}", about, labels=_OF_VALUES, unit=unit)
                for name, about in (
                    ("typical", _TYPICAL),
                    ("typical_low", "Lower end of the 95 % interval of the median"),
                    ("typical_high", "Upper end of the 95 % interval of the median"),
                )
            ]
            for workload, cell in self._cells():
                for summary in cell.summaries if _name(cell.unit) == unit else ():
                    labels = (workload, cell.metric, _at(cell), summary.system, cell.unit)
                    values = (summary.median, summary.median_low, summary.median_high)
                    for family, value in zip(families, values, strict=True):
                        if value is not None:
                            family.add_metric(labels, value)
            yield from (family for family in families if family.samples)

    def _ratios(self) -> "Metric":
        from prometheus_client.core import GaugeMetricFamily

        labels = (*_LABELS, "against", "bound")
        about = "Typical-block ratio of a system to another one, with its interval"
        family = GaugeMetricFamily("tiltyard_comparison", about, labels=labels, unit="ratio")
        for workload, cell in self._cells():
            for pair in cell.comparisons:
                bounds = {"estimate": pair.ratio, "low": pair.low, "high": pair.high}
                for bound, value in bounds.items():
                    if value is not None:
                        at = (workload, cell.metric, _at(cell), pair.system, pair.against, bound)
                        family.add_metric(at, value)
        return family


def render(findings: Findings) -> bytes:
    """The exposition, in UTF-8, ended by ``# EOF``."""
    from prometheus_client.openmetrics.exposition import generate_latest

    # The writer is untyped, and asks a registry for nothing but its families.
    text: bytes = generate_latest(_Families(findings))  # type: ignore[no-untyped-call]
    return text


def _name(unit: str) -> str:
    return UNITS.get(unit) or _SIGN.sub("_", unit.lower()).strip("_") or "units"


def _at(cell: Cell) -> str:
    """``file=67108864,record=4096``."""
    return ",".join(f"{name}={level}" for name, level in cell.at.items())


EXPORTER = Exporter(
    name="openmetrics",
    about="OpenMetrics text: medians and ratios with their intervals, for Prometheus",
    file="metrics.txt",
    render=render,
)
