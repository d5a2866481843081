"""Google Benchmark's JSON (``--benchmark_format=json``); repetitions are of one process.

Where only aggregates were kept, the mean is read. Versions before 1.5 write them as if they were
benchmarks: NAME_mean and NAME_stddev, which stand together, are known by that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, detail, single
from tiltyard.importers.json_file import Node, result_of
from tiltyard.importers.quantities import BYTES_S, NANOSECONDS, PER_S, Unit, metric, unit_named

METRICS: Final = (
    metric("time", NANOSECONDS, None, label="time of an iteration"),
    metric("cpu_time", NANOSECONDS, None, label="CPU time of an iteration", headline=False),
    metric("throughput", BYTES_S, None, headline=False),
    metric("items", PER_S, None, headline=False),
)
_RATES: Final = (
    ("bytes_per_second", "throughput", BYTES_S),
    ("items_per_second", "items", PER_S),
)


def read(data: bytes, name: str) -> Imported:
    """One file of a program that links Google Benchmark."""
    top = result_of(data, name)
    entries = _with_aggregates(top["benchmarks"].entries())
    failed = [one for one in entries if _is(one, "error_occurred")]
    skipped = [one for one in entries if _is(one, "skipped") and one not in failed]
    whole = [one for one in entries if one not in failed and one not in skipped]
    alone = {_name(one) for one in whole if _aggregate(one) is None}
    limits: list[str] = []
    measured = [
        found
        for entry in whole
        for found in (
            _figures(entry, limits)
            if _aggregate(entry) is None
            or (_aggregate(entry) == "mean" and _name(entry) not in alone)
            else ()
        )
    ]
    context = top.get("context")
    debug = context and (built := context.get("library_build_type")) and built.text() == "debug"
    return single(
        use="Google Benchmark",
        metrics=METRICS,
        measured=tuple(measured),
        grid=("benchmark",),
        limits=(
            *dict.fromkeys(limits),
            *(f"{_name(one)} ended with an error and is left out." for one in failed),
            *(f"{_name(one)} was skipped by its program and is left out." for one in skipped),
            *(
                ("The library was built for debugging, so its times are too long.",)
                if debug
                else ()
            ),
        ),
    )


def _figures(entry: Node, limits: list[str]) -> Iterator[Measured]:
    """Of one repetition, or the mean of all."""
    at: dict[str, int | str] = {"benchmark": _name(entry)}
    for name, node, unit in _nodes(entry):
        yield from detail(
            f"{_name(entry)}: {name.replace('_', ' ')}",
            partial(_figure, name, at, node, unit),
            limits,
        )


def _figure(name: str, at: Mapping[str, int | str], node: Node, unit: Unit) -> Measured:
    return Measured(name, at, (unit.value(node.value()),))


def _nodes(entry: Node) -> Iterator[tuple[str, Node, Unit]]:
    unit = unit_named(entry["time_unit"].text())
    if unit is None or unit.base != "s":
        raise entry["time_unit"].refused("should be ns, us, ms or s")
    yield "time", entry["real_time"], unit
    yield "cpu_time", entry["cpu_time"], unit
    for key, name, known in _RATES:
        node = entry.get(key)
        if node is not None:
            yield name, node, known


def _name(entry: Node) -> str:
    """Without what aggregates append."""
    return (entry.get("run_name") or entry["name"]).text()


def _with_aggregates(entries: list[Node]) -> list[Node]:
    """The same, with what versions before 1.5 do not say: which rows are summaries of which."""
    names = {entry["name"].text() for entry in entries}
    told = any(entry.get("run_type") or _aggregate(entry) for entry in entries)
    repeated = {
        name.removesuffix("_stddev")
        for name in names
        if name.endswith("_stddev") and f"{name.removesuffix('_stddev')}_mean" in names
    }
    if told or not repeated:
        return entries
    found = []
    for entry in entries:
        name, _, kind = entry["name"].text().rpartition("_")
        own = {"run_name": name, "aggregate_name": kind} if name in repeated else {}
        found.append(replace(entry, content={**entry.table(), **own}))
    return found


def _aggregate(entry: Node) -> str | None:
    node = entry.get("aggregate_name")
    return node.text() if node else None


def _is(entry: Node, key: str) -> bool:
    node = entry.get(key)
    return node is not None and node.content is True


IMPORTER: Final = Importer(
    name="google-benchmark",
    about="`--benchmark_format=json` or `--benchmark_out=FILE` of Google Benchmark 1",
    left_out="counters of the program, medians, deviations and their coefficients, complexities",
    cut_off="refused, as it is no JSON then",
    repeats="`--benchmark_repetitions`",
    recognises=lambda head: '"real_time"' in head and '"cpu_time"' in head,
    read=read,
    for_people=ForPeople(
        r"^Benchmark +Time(?:\(ns\))? +CPU(?:\(ns\))? +Iterations",
        "add --benchmark_out=FILE to its command line",
    ),
    metrics=METRICS,
    grid=("benchmark",),
)
