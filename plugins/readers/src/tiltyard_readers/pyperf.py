"""pyperf's JSON (``-o FILE``): every benchmark with the values of its worker processes.

The values of one process share its layout in memory and its hash seed: first their mean is taken.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, single
from tiltyard.importers.json_file import Node, result_of
from tiltyard.importers.quantities import BYTES, COUNT, SECONDS, Unit, metric

METRICS: Final = (
    metric("time", SECONDS, None),
    metric("memory", BYTES, None, direction="lower"),
    metric("count", COUNT, None, direction="lower"),
)
_UNITS: Final[dict[str, tuple[str, Unit]]] = {
    "second": ("time", SECONDS),
    "byte": ("memory", BYTES),
    "integer": ("count", COUNT),
}


def read(data: bytes, name: str) -> Imported:
    """One file of a benchmark or of a suite."""
    top = result_of(data, name)
    common = top.get("metadata")
    found = [(one, _metadata(one, common, "name")) for one in top["benchmarks"].entries()]
    return single(
        use="pyperf",
        lineage=f"pyperf {_metadata(top, common, 'perf_version')}".strip(),
        metrics=METRICS,
        measured=tuple(
            measured
            for benchmark, own_name in found
            for measured in _measured(benchmark, own_name, common)
        ),
        grid=("benchmark",),
        facts={
            key: value
            for key, field in (("python", "python_version"), ("platform", "platform"))
            if (value := _metadata(top, common, field))
        },
    )


def _measured(benchmark: Node, name: str, common: Node | None) -> Iterator[Measured]:
    key = _metadata(benchmark, common, "unit") or "second"
    if key not in _UNITS:
        raise benchmark.refused(f"unit {key[:20]!a} should be one of {', '.join(_UNITS)}")
    metric_name, unit = _UNITS[key]
    values = []
    for run in benchmark["runs"].entries():
        own = run.get("values")  # runs that only calibrate have none
        numbers = [one.value() for one in own.entries()] if own else []
        if numbers:
            values.append(unit.value(sum(numbers, Fraction(0)) / len(numbers)))
    yield Measured(metric_name, {"benchmark": name or "benchmark"}, tuple(values))


def _metadata(node: Node, common: Node | None, key: str) -> str:
    """Of the benchmark, or what all of them have in common."""
    own = node.get("metadata")
    found = (own and own.get(key)) or (common and common.get(key))
    return found.text() if found else ""


IMPORTER: Final = Importer(
    name="pyperf",
    about="`-o FILE` of pyperf 1.0 and later, of one benchmark or a suite",
    left_out="warm-ups, calibration, metadata of runs",
    cut_off="refused, as it is no JSON then",
    recognises=lambda head: (
        '"perf_version"' in head or ('"benchmarks":' in head and '"runs":' in head)
    ),
    read=read,
    for_people=ForPeople(r"^(?:\S+: )?Mean \+- std dev: ", "add -o FILE to its command line"),
    metrics=METRICS,
    grid=("benchmark",),
)
