"""tiotest's tables of rates and latencies, and its terse lines (``-T``)."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import MIB_S, MILLISECONDS, PERCENT, Unit, metric
from tiltyard.importers.reading import Line, executions, lines_of

_PHASES: Final = {
    "Write": "write",
    "Random Write": "random_write",
    "Read": "read",
    "Random Read": "random_read",
}
_TERSE_PHASES: Final = {
    "write": "write",
    "rwrite": "random_write",
    "read": "read",
    "rread": "random_read",
}
_LATENCIES: Final[tuple[tuple[str, str, Unit, int], ...]] = (
    ("latency_mean", "latency, mean", MILLISECONDS, 3),
    ("latency_max", "latency, maximum", MILLISECONDS, 3),
    ("over_2s", "operations over 2 s", PERCENT, 5),
    ("over_10s", "operations over 10 s", PERCENT, 5),
)
METRICS: Final = (
    *(metric(name, MIB_S, 3) for name in _PHASES.values()),
    *(
        metric(
            f"{name}_{suffix}",
            unit,
            decimals,
            label=f"{name.replace('_', ' ')} {label}",
            headline=False,
        )
        for name in _PHASES.values()
        for suffix, label, unit, decimals in _LATENCIES
    ),
)
_BEGINS: Final = re.compile(r"Tiotest results for (\d+) concurrent io threads:\s*")
_RATE: Final = re.compile(
    r"\| ([A-Z][A-Za-z ]+?)\s+(\d+) MBs \|\s*(\S+) s \|\s*(\S+) MB/s \|"
    r"\s*\S+ %\s*\|\s*\S+ %\s*\|\s*"
)
_LATENCY: Final = re.compile(
    r"\| ([A-Z][A-Za-z ]+?)\s*\|\s*(\S+) ms \|\s*(\S+) ms \|\s*(\S+) \|\s*(\S+) \|\s*"
)
_TERSE: Final = re.compile(r"(r?(?:write|read)):(.*)")


def read(data: bytes, name: str) -> Imported:
    """Everything that tiotest printed to one file."""
    lines = lines_of(data, name)
    tables = executions(lines, _BEGINS)
    found = [
        _workload("tiotest", ("file", "threads"), [m for table in tables for m in _table(table)]),
        _workload("tiotest, terse", ("data",), list(_terse_lines(lines))),
    ]
    return Imported(
        workloads=tuple(workload for workload in found if workload.measured),
        limits=(
            "tiotest clears no cache between its phases, so it reads from memory what fits in "
            "there; the size of its blocks is not printed.",
            *(_inflated(lines) if any(map(_is_inflated, tables)) else ()),
        ),
    )


def _workload(name: str, grid: tuple[str, ...], measured: Sequence[Measured]) -> ImportedWorkload:
    return ImportedWorkload(
        name=name, use="tiotest", metrics=METRICS, measured=tuple(measured), grid=grid
    )


def _table(lines: Sequence[Line]) -> Iterator[Measured]:
    """One execution: its rates, then its latencies."""
    threads = next((line.count(m[1]) for line in lines if (m := _BEGINS.fullmatch(line.text))), 0)
    if not threads:
        return
    at: dict[str, int | str] = {"file": _amount(lines) * 2**20 // threads, "threads": threads}
    for line in lines:
        rate, latency = _RATE.fullmatch(line.text), _LATENCY.fullmatch(line.text)
        if rate:
            value = line.value(rate[4])
            yield Measured(_phase(line, rate[1]), at, (MIB_S.value(value),))
        elif latency and latency[1] != "Total":
            name = _phase(line, latency[1])
            for (suffix, _, unit, _), word in zip(_LATENCIES, latency.groups()[1:], strict=True):
                yield Measured(f"{name}_{suffix}", at, (unit.value(line.value(word)),))
        elif re.match(r"\| (?!Item|Total)\S", line.text):
            raise line.refused("not a row of tiotest's tables")


def _amount(lines: Sequence[Line]) -> int:
    """MiB that all threads together wrote or read in sequence; 0 where neither was done."""
    amounts = _amounts(lines)
    return amounts.get("Write") or amounts.get("Read") or 0


def _amounts(lines: Sequence[Line]) -> dict[str, int]:
    return {m[1]: line.count(m[2]) for line in lines if (m := _RATE.fullmatch(line.text))}


def _phase(line: Line, label: str) -> str:
    if label not in _PHASES:
        raise line.refused(f"unknown phase; known are {', '.join(_PHASES)}")
    return _PHASES[label]


def _is_inflated(lines: Sequence[Line]) -> bool:
    """Whether a random phase claims to have moved the whole file."""
    amounts, whole = _amounts(lines), _amount(lines)
    return whole > 0 and whole in (amounts.get("Random Write"), amounts.get("Random Read"))


def _inflated(lines: Sequence[Line]) -> Iterator[str]:
    yield (
        f"{lines[0].file}: a random phase is said to have moved as much as the whole file: the "
        "version of 2017 credits that whatever was moved, so its random figures may be too high."
    )


def _terse_lines(lines: Sequence[Line]) -> Iterator[Measured]:
    """MB, wall, user and system seconds, and the latencies of each phase; zeros: not executed."""
    rows = [(line, match) for line in lines if (match := _TERSE.fullmatch(line.text.strip()))]
    at: dict[str, int | str] = {}
    for line, match in rows:
        values = [line.value(word) for word in match[2].split(",")]
        if len(values) != 8:
            raise line.refused(f"a terse line of tiotest has 8 figures, this one {len(values)}")
        amount, elapsed_s = values[:2]
        if match[1] == "write" or not at:
            at = {"data": int(amount * 2**20)}
        if not amount or not elapsed_s:
            continue
        name = _TERSE_PHASES[match[1]]
        yield Measured(name, at, (MIB_S.value(Fraction(amount, elapsed_s)),))
        for (suffix, _, unit, _), value in zip(_LATENCIES, values[4:], strict=True):
            yield Measured(f"{name}_{suffix}", at, (unit.value(value),))


IMPORTER: Final = Importer(
    name="tiotest",
    about="the tables of tiotest 0.3.3 to 0.5 and of our engine, and its terse lines (`-T`)",
    left_out="elapsed times, CPU, latencies of all phases together",
    cut_off="rows that are whole are kept; phases that are not there are missing",
    repeats="executions",
    recognises=lambda head: (
        "Tiotest results for" in head or ("\nrwrite:" in head and "\nrread:" in head)
    ),
    read=read,
    metrics=METRICS,
    grid=("file", "threads", "data"),
)
