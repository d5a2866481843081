"""IOzone's text: tables of one stream, throughput of several, and the matrices of ``-R``.

Versions from before 3.423 (``KB``) to 3.508 are read; a KB or kB is 1024 B in all of them. A
printed zero is no result: tests that were not repeated, records that were skipped, and times below
a microsecond are printed so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import (
    KIB_S,
    MICROSECONDS,
    PER_S,
    PERCENT,
    Unit,
    all_units,
    metric,
)
from tiltyard.importers.reading import Line, executions, lines_of
from tiltyard_readers.iozone.columns import METRICS
from tiltyard_readers.iozone.session import BEGINS, Session
from tiltyard_readers.iozone.single import Place, rows

_LABELS: Final = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward_read",
    "stride readers": "stride_read",
    "random readers": "random_read",
    "mixed workload": "mixed",
    "random writers": "random_write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
}
_FILES: Final = re.compile(
    r"\s*Each (?:process|thread) writes a (\d+) [kK]B?(?:yte)? file in (\d+) [kK]B?(?:yte)? records"
)
_FIGURE: Final = re.compile(
    r"\s*(Children see|Parent sees) throughput for +(\d+) (.+?)\s*=\s*(\S+) (\S+)\s*"
)
_LEAST: Final = re.compile(r"\s*Min (xfer|throughput per \w+)\s*=\s*(\S+) \S+\s*")
_CPU: Final = re.compile(r"\s*CPU [uU]tilization: .* CPU utilization\s+(\S+) %\s*")
_ROUNDED: Final = Fraction(1, 100)
"""Figures have two decimals."""
_UNITS: Final = ("kB/sec", "KB/sec", "ops/sec", "kBytes/sec")


def child_metrics(unit: Unit) -> Iterator[CollectedMetric]:
    """What is printed of several children only: the parent's view, and the mixed workload."""
    yield metric("mixed", unit, 2)
    for name in _LABELS.values():
        label = f"{name.replace('_', ' ')}, seen by the parent"
        yield metric(f"{name}_parent", unit, 2, label=label, headline=False)


def children(session: Session) -> tuple[list[Measured], list[str]]:
    """What all children together did, and what to say about it.

    Raises:
        UsageError: if a line is damaged.
    """
    found, file = list(_figures(session.lines, session.unit)), session.lines[0].file
    waiting, missing = _incomplete(session.lines)
    warnings = []
    if waiting:
        warnings.append(
            f"{file}: in {waiting} of the tests a child had moved nothing when the first one was "
            "done: the sum of children is then a sum over different times."
        )
    if missing:
        warnings.append(
            f"{file}: in {missing} of the tests the sum of children is less than the least of them "
            "times their number: children are missing in it."
        )
    return found, warnings


def _incomplete(lines: Sequence[Line]) -> tuple[int, int]:
    """In how many tests a child had moved nothing; and in how many the sum cannot have all."""
    waiting = missing = 0
    children, total = 0, Fraction(0)
    for line in lines:
        if (seen := _FIGURE.fullmatch(line.text)) and seen[1] == "Children see":
            children, total = line.count(seen[2]), line.value(seen[4])
        elif least := _LEAST.fullmatch(line.text):
            value = line.value(least[2])
            if least[1] == "xfer":
                waiting += not value
            else:
                missing += children * (value - _ROUNDED) > total
    return waiting, missing


def _figures(lines: Sequence[Line], unit: Unit) -> Iterator[Measured]:
    sizes: dict[str, int | str] = {}
    at, cpu = sizes, ""
    for line in lines:
        if match := _FILES.match(line.text):
            sizes = {
                "file": line.count(match[1]) * 1024,
                "record": line.count(match[2]) * 1024,
            }
        elif match := _FIGURE.fullmatch(line.text):
            viewer, count, label, value, printed_unit = match.groups()
            name = _LABELS.get(label)
            if name is None or printed_unit not in _UNITS:
                raise line.refused("not a line of IOzone's throughput: unknown test or unit")
            at, cpu = {"children": line.count(count), **sizes}, f"{name}_cpu"
            if not line.value(value):
                continue
            yield Measured(
                name if viewer == "Children see" else f"{name}_parent",
                at,
                (unit.value(line.value(value)),),
            )
        elif (match := _CPU.fullmatch(line.text)) and cpu:
            yield Measured(cpu, at, (PERCENT.value(line.value(match[1])),))


_TITLES: Final = {
    "writer": "write",
    "re-writer": "rewrite",
    "reader": "read",
    "re-reader": "reread",
    "random read": "random_read",
    "random write": "random_write",
    "backward read": "backward_read",
    "record rewrite": "record_rewrite",
    "stride read": "stride_read",
    "fwrite": "fwrite",
    "re-fwrite": "frewrite",
    "fread": "fread",
    "re-fread": "freread",
}
"""Those of pwrite and pread are left out: IOzone shifts them by two where tests are selected."""
_TITLE: Final = re.compile(r'"(.+?) (CPU utilization )?report.*"\s*')
_SIZES: Final = re.compile(r'\s*"\d+"(?:\s+"\d+")*\s*')
_ROW: Final = re.compile(r'"(\d{1,16})"\s*(.*)', re.ASCII)

Printed = dict[tuple[str, str], dict[tuple[int, int], Fraction]]
"""Metric, and "CPU" or nothing → file and record in bytes → figure."""


def matrices(session: Session) -> tuple[dict[Place, Fraction], Printed]:
    """The figures of all matrices but those of CPU time; and everything, by matrix."""
    printed: Printed = {}
    lines = iter(session.lines)
    for line in lines:
        title = _TITLE.fullmatch(line.text)
        name = _TITLES.get(title[1].lower()) if title else None
        if title and name:
            printed[name, "CPU" if title[2] else ""] = dict(_cells(lines))
    found = {
        (name, *place): value
        for (name, kind), cells in printed.items()
        if not kind
        for place, value in cells.items()
        if value
    }
    return found, printed


def cpu_shares(printed: Printed) -> Mapping[Place, Fraction]:
    """Shares of CPU time in percent."""
    return {
        (name, *place): value
        for (name, kind), cells in printed.items()
        if kind
        for place, value in cells.items()
    }


def _cells(lines: Iterator[Line]) -> Iterator[tuple[tuple[int, int], Fraction]]:
    """The cells of the matrix that begins here; a row may be shorter than the head."""
    head = next(lines, None)
    if head is None or not _SIZES.fullmatch(head.text):
        return
    records = [head.count(word.strip('"')) * 1024 for word in head.words]
    for line in lines:
        row = _ROW.fullmatch(line.text)
        if row is None:
            return
        values = row[2].split()
        if len(values) > len(records):
            raise line.refused(f"{len(values)} figures under {len(records)} sizes of records")
        for record, value in zip(records, values, strict=False):
            yield (int(row[1]) * 1024, record), line.value(value)


COMPLETE: Final = "iozone test complete."


def read(data: bytes, name: str) -> Imported:
    """Everything that IOzone printed to one file, in one session or several."""
    own = executions(lines_of(data, name), BEGINS)
    found = [one for lines in own for one in _workloads(Session(lines))]
    return Imported(
        workloads=tuple(workload for workload, _ in found),
        limits=tuple(dict.fromkeys(limit for _, limits in found for limit in limits)),
    )


def _workloads(session: Session) -> Iterator[tuple[ImportedWorkload, list[str]]]:
    """One stream and several are workloads of their own."""
    limits = list(_limits(session))
    single, zeros = _measured(session)
    if single:
        yield _workload(session, "iozone", ("file", "record"), single), [*limits, *zeros]
    several, warnings = children(session)
    if several:
        yield _workload(session, "iozone throughput", _SEVERAL, several), [*limits, *warnings]


def _measured(session: Session) -> tuple[list[Measured], list[str]]:
    """Figures of the table, or of the matrices where a row is ambiguous; sentences."""
    table, printed = matrices(session)
    found = list(rows(session, table))
    tabled = {place for place, _ in found}
    measured = [
        Measured(name, {"file": file, "record": record}, (session.unit.value(value),))
        for (name, file, record), value in (
            *found,
            *((place, value) for place, value in table.items() if place not in tabled),
        )
        if value
    ]
    measured += [
        Measured(f"{name}_cpu", {"file": file, "record": record}, (PERCENT.value(value),))
        for (name, file, record), value in cpu_shares(printed).items()
        if value
    ]
    zeros = sum(not value for _, value in found)
    told = (
        f"{session.lines[0].file}: {zeros} figures are printed as 0 and are missing: IOzone prints "
        "so what was not repeated (-+n) and times below a microsecond."
    )
    return measured, [told] if zeros else []


def _workload(
    session: Session, name: str, grid: tuple[str, ...], measured: Sequence[Measured]
) -> ImportedWorkload:
    return ImportedWorkload(
        name=f"{name}, {', '.join(session.modes)}" if session.modes else name,
        use=name,
        lineage=f"IOzone {session.version}" if session.version else "",
        metrics=tuple(_metrics(session.unit, grid)),
        measured=tuple(measured),
        commands=(session.command,) if session.command else (),
        grid=grid,
    )


def _metrics(unit: Unit, grid: Sequence[str]) -> Iterator[CollectedMetric]:
    """All that IOzone prints in one unit."""
    decimals = 2 if "children" in grid else 0
    for one in METRICS:
        yield metric(one, unit, decimals)
    if "children" in grid:
        yield from child_metrics(unit)
    for one in (*METRICS, "mixed"):
        label = f"{one.replace('_', ' ')} CPU"
        yield metric(f"{one}_cpu", PERCENT, 2, label=label, headline=False)


def _limits(session: Session) -> Iterator[str]:
    if "direct" not in session.modes:
        yield (
            "IOzone reads what it has just written, so its figures are those of memory wherever a "
            "file fits in there."
        )
    if not any(line.text.strip() == COMPLETE for line in session.lines):
        yield (
            f"{session.lines[0].file}: ends before IOzone was done; what it would have measured "
            "after that is missing."
        )
    for line in session.lines:
        if line.text.startswith("reported inaccurate results. Sizes "):
            sizes = line.text.removeprefix("reported inaccurate results. Sizes ").strip(" .")
            yield (
                f"IOzone's clock was too coarse for transfers of {sizes}: such figures are steps "
                "of one tick."
            )


_SEVERAL: Final = ("children", "file", "record")
IMPORTER: Final = Importer(
    name="iozone",
    about="the text of IOzone 3.3 to 3.5 and of our engine: tables in KB/s, operations or µs, "
    "throughput of several children, matrices of `-R`",
    left_out="of children the least, the largest, the average and each (`-C`); matrices of "
    "pwrite and pread",
    cut_off="rows that are whole are kept, and that it ends early is said",
    repeats="executions",
    recognises=lambda head: (
        "Iozone: Performance Test" in head
        or "Iozone: command line of" in head
        or ("reclen" in head and "reread" in head)
        or ('"Writer report"' in head and "Excel" in head)
    ),
    read=read,
    metrics=all_units(tuple(_metrics(unit, _SEVERAL)) for unit in (KIB_S, PER_S, MICROSECONDS)),
    grid=_SEVERAL,
)
