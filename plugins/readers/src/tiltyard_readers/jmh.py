"""JMH's JSON (``-rf json``): every benchmark with its parameters, in each of its modes.

The iterations of one fork share a virtual machine, its compiled code and its heap: first their mean
is taken. Classes of one name are told apart by their packages.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, single
from tiltyard.importers.json_file import Node, json_of
from tiltyard.importers.quantities import (
    BYTES,
    NANOSECONDS,
    PER_S,
    Unit,
    metric,
    percentile_name,
    unit_named,
)
from tiltyard.importers.reading import NoFigureError, number

METRICS: Final = (
    metric("throughput", PER_S, None),
    metric("time", NANOSECONDS, None, label="time of an operation"),
    metric("sampled_time", NANOSECONDS, None, label="time of an operation, sampled"),
    metric("single_shot_time", NANOSECONDS, None, label="time of one call, cold"),
    metric("allocated", BYTES, None, label="allocated by an operation", headline=False),
)
_MODES: Final = {
    "thrpt": "throughput",
    "avgt": "time",
    "sample": "sampled_time",
    "ss": "single_shot_time",
}
_ALLOCATED: Final = ("gc.alloc.rate.norm", "·gc.alloc.rate.norm")


def read(data: bytes, name: str) -> Imported:
    """One file of results."""
    entries = json_of(data, name).entries()
    limits: list[str] = []
    forks = {entry["forks"].count() for entry in entries}
    return single(
        use="JMH",
        lineage=_joined(entries, "jmhVersion", "JMH "),
        metrics=METRICS,
        measured=tuple(one for entry in entries for one in _kept(entry, limits)),
        grid=("benchmark",),
        facts={"JDK": _joined(entries, "jdkVersion"), "VM": _joined(entries, "vmName")},
        limits=(
            *limits,
            *(
                ("Benchmarks ran without forks, in JMH's own virtual machine.",)
                if 0 in forks
                else ()
            ),
        ),
    )


def _joined(entries: list[Node], key: str, before: str = "") -> str:
    return ", ".join(
        dict.fromkeys(f"{before}{node.text()}" for one in entries if (node := one.get(key)))
    )


def _kept(entry: Node, limits: list[str]) -> list[Measured]:
    """What was measured; nothing, with a sentence, where a figure of it cannot be."""
    try:
        return [*_measured(entry)]
    except NoFigureError as error:
        limits.append(f"{_name(entry)} left out: {error.why}.")
        return []


def _measured(entry: Node) -> Iterator[Measured]:
    mode = entry["mode"]
    if mode.text() not in _MODES:
        raise mode.refused(f"{mode.text()[:20]!a} should be one of {', '.join(_MODES)}")
    name, primary = _MODES[mode.text()], entry["primaryMetric"]
    at: dict[str, int | str] = {"benchmark": _name(entry)}
    apart = {"benchmark": (".".join(entry["benchmark"].text().split(".")[:-2]),)}
    unit = _unit(primary["scoreUnit"])
    percentiles = _percentiles(primary, unit) if name == "sampled_time" else {}
    yield Measured(name, at, tuple(_forks(primary, unit)), percentiles=percentiles, apart=apart)
    others = entry.get("secondaryMetrics")
    for key in _ALLOCATED if others else ():
        allocated = others.get(key) if others else None
        if allocated is not None and name in ("throughput", "time"):
            yield Measured("allocated", at, tuple(_forks(allocated, BYTES)), apart=apart)


def _name(entry: Node) -> str:
    """Class and method, threads and parameters: ``Sums.sum n=10``."""
    threads = entry["threads"].text()
    parameters = entry.get("params")
    pairs = [f"{key}={node.text()}" for key, node in parameters.items()] if parameters else []
    return " ".join(
        (
            ".".join(entry["benchmark"].text().split(".")[-2:]),
            *pairs,
            *((f"threads={threads}",) if threads != "1" else ()),
        )
    )


def _forks(metric_node: Node, unit: Unit) -> Iterator[float]:
    """The mean of each fork; of sampled times only the score of all forks is kept."""
    raw = metric_node.get("rawData")
    if raw is None:
        yield unit.value(metric_node["score"].value())
        return
    for fork in raw.entries():
        values = [one.value() for one in fork.entries()]
        if values:
            yield unit.value(sum(values, Fraction(0)) / len(values))


def _percentiles(primary: Node, unit: Unit) -> Mapping[str, float]:
    return {
        percentile_name(number(key)): unit.value(node.value())
        for key, node in primary["scorePercentiles"].items()
        if key not in ("0.0", "100.0")
    }


def _unit(node: Node) -> Unit:
    """``ops/ms`` and ``ns/op``."""
    text = node.text()
    per = unit_named(text.removeprefix("ops/")) if text.startswith("ops/") else None
    unit = Unit(text, "1/s", 1 / per.factor) if per and per.base == "s" else unit_named(text)
    if unit is None or unit.base not in ("1/s", "s"):
        raise node.refused(f"{text[:20]!a} should be operations per time, or time per operation")
    return unit


IMPORTER: Final = Importer(
    name="jmh",
    about="`-rf json` of JMH, in every mode; `-prof gc` also gives what an operation allocates",
    left_out="figures of profilers but gc.alloc.rate.norm, errors of scores, histograms",
    cut_off="refused, as it is no JSON then",
    recognises=lambda head: '"jmhVersion"' in head or '"primaryMetric"' in head,
    read=read,
    for_people=ForPeople(
        r"^Benchmark +(?:\(\w+\) +)*Mode +(?:Cnt|Samples) +Score ",
        "add -rf json to its command line",
    ),
    metrics=METRICS,
    grid=("benchmark",),
    timed=("sampled_time",),
    # Its SampleBuffer keeps ten bits of a time.
    bin_width=1 / 1024,
)
