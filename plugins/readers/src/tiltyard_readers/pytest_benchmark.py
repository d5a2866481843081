"""pytest-benchmark's JSON (``--benchmark-json``): one value of each benchmark.

All rounds of a benchmark are of one process, so a file is one repetition, whatever their number.
"""

from collections.abc import Iterator
from typing import Final

from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, single
from tiltyard.importers.json_file import Node, result_of
from tiltyard.importers.quantities import SECONDS, metric

METRICS: Final = (
    metric("time", SECONDS, None, label="mean time"),
    metric("time_median", SECONDS, None, label="median time", headline=False),
    metric("time_min", SECONDS, None, label="shortest time", headline=False),
)
_FIGURES: Final = (("mean", "time"), ("median", "time_median"), ("min", "time_min"))


def read(data: bytes, name: str) -> Imported:
    """One file of one ``pytest``."""
    top = result_of(data, name)
    version = top.get("version")
    return single(
        use="pytest-benchmark",
        lineage=f"pytest-benchmark {version.text()}" if version else "",
        metrics=METRICS,
        measured=tuple(found for one in top["benchmarks"].entries() for found in _measured(one)),
        grid=("benchmark",),
        facts=dict(_facts(top)),
        limits=(
            "Rounds of pytest-benchmark are of one process and count as one value; their "
            "deviation says nothing of how well a process repeats.",
        ),
    )


def _measured(benchmark: Node) -> Iterator[Measured]:
    at: dict[str, int | str] = {"benchmark": benchmark["fullname"].text()}
    stats = benchmark["stats"]
    for key, name in _FIGURES:
        yield Measured(name, at, (SECONDS.value(stats[key].value()),))


def _facts(top: Node) -> Iterator[tuple[str, str]]:
    machine = top.get("machine_info")
    for key, name in (("python_version", "python"), ("system", "system"), ("release", "kernel")):
        if machine and (node := machine.get(key)):
            yield name, node.text()


IMPORTER: Final = Importer(
    name="pytest-benchmark",
    about="`pytest --benchmark-json=FILE` of pytest-benchmark 3 and later",
    left_out="single rounds, deviations, quartiles, what `extra_info` holds",
    cut_off="refused, as it is no JSON then",
    recognises=lambda head: (
        '"machine_info"' in head and ('"commit_info"' in head or '"benchmarks"' in head)
    ),
    read=read,
    for_people=ForPeople(
        r"^Name \(time in \w+\) +Min ", "add --benchmark-json=FILE to its command line"
    ),
    metrics=METRICS,
    grid=("benchmark",),
)
