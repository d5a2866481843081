"""What one execution of netperf yields, whatever form it is printed in."""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.quantities import (
    BYTES_S,
    GBIT_S,
    GIB_S,
    KBIT_S,
    KIB_S,
    MBIT_S,
    MIB_S,
    MICROSECONDS,
    PER_S,
    PERCENT,
    Unit,
    metric,
)

US_PER_KB: Final = Unit("µs/KB", "s/B", Fraction(1, 10**6 * 1024))
PERCENTILES: Final = {
    "P50_LATENCY": "latency_p50",
    "P90_LATENCY": "latency_p90",
    "P99_LATENCY": "latency_p99",
}
"""Selector → metric, where no mean is printed that they could stand beside."""
_BITS: Final = {"3": KBIT_S, "6": MBIT_S, "9": GBIT_S}
_BYTES: Final = {"": BYTES_S, "K": KIB_S, "M": MIB_S, "G": GIB_S}
_TITLES: Final = {
    "TCP Connect/Request/Response": "TCP_CRR",
    "TCP Connect/Close": "TCP_CC",
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM",
}
_BANNER: Final = re.compile(r"(?:MIGRATED )?([A-Z][\w/| ]{1,60}?) TEST(?: from .*)?")


@dataclass
class Outcome:
    """The figures of one execution."""

    test: str
    """``TCP_STREAM``; empty where it is unknown."""
    at: dict[str, int | str]
    rate: Unit
    """In which throughput or transactions are printed."""
    demand: Unit = MICROSECONDS
    """In which service demand is printed."""
    values: dict[str, float] = field(default_factory=dict)
    """Metric → value in base units."""
    percentiles: dict[str, dict[str, float]] = field(default_factory=dict)
    host: str = ""
    """Its other end, as its banner names it."""

    @property
    def headline(self) -> str:
        """The metric that the rate is."""
        return "transactions" if self.rate.base == "1/s" else "throughput"


def test_of(banner: str) -> str | None:
    """The test that a banner announces, as ``-t`` takes it; ``None`` if it is none."""
    match = _BANNER.fullmatch(banner.strip())
    if match is None or " " not in banner.strip():
        return None
    title = match[1]
    known = _TITLES.get(title)
    return known or title.replace("REQUEST/RESPONSE", "RR").replace(" ", "_")


def rate_unit(text: str) -> Unit | None:
    """The unit that a head or a selector names.

    ``10^0bits`` is not one: netperf prints bytes under that name.
    """
    if bits := re.search(r"10\^([369])bits", text):
        return _BITS[bits[1]]
    if amount := re.search(r"\b([KMG]?)Bytes\s*/s", text):
        return _BYTES[amount[1]]
    return PER_S if re.search(r"per sec|Trans/s", text) else None


def metrics(outcome: Outcome) -> tuple[CollectedMetric, ...]:
    """The metrics of an execution."""
    label = "throughput received" if outcome.test.startswith("UDP_STREAM") else "throughput"
    own = printed_in(outcome.rate, outcome.demand, label)
    return tuple(own[name] for name in own if name in outcome.values)


def printed_in(rate: Unit, demand: Unit, label: str = "throughput") -> dict[str, CollectedMetric]:
    """All metrics by name, with their units."""
    return {
        "throughput": metric("throughput", rate, 2, label=label),
        "transactions": metric("transactions", PER_S, 2),
        "throughput_sent": metric("throughput_sent", rate, 2, headline=False),
        "latency": metric("latency", MICROSECONDS, 3, headline=False),
        **{
            name: metric(
                name, MICROSECONDS, 0, label=f"latency, {name.rpartition('_')[2]}", headline=False
            )
            for name in PERCENTILES.values()
        },
        "cpu_near": metric("cpu_near", PERCENT, 2, label="CPU in use, client", headline=False),
        "cpu_far": metric("cpu_far", PERCENT, 2, label="CPU in use, server", headline=False),
        "service_demand_near": metric(
            "service_demand_near", demand, 3, label="service demand, client", headline=False
        ),
        "service_demand_far": metric(
            "service_demand_far", demand, 3, label="service demand, server", headline=False
        ),
    }
