"""IOzone's text: tables of one stream, throughput of several, and the matrices of ``-R``.

Versions from before 3.423 (``KB``) to 3.508 are read; a KB or kB is 1024 B in all of them. A
printed zero is no result: tests that were not repeated, records that were skipped, and times below
a microsecond are printed so.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.iozone.columns import METRICS
from tiltyard.importers.iozone.matrices import cpu_shares, matrices
from tiltyard.importers.iozone.session import BEGINS, Session
from tiltyard.importers.iozone.single import rows
from tiltyard.importers.iozone.throughput import child_metrics, children
from tiltyard.importers.quantities import (
    KIB_S,
    MICROSECONDS,
    PER_S,
    PERCENT,
    Unit,
    all_units,
    metric,
)
from tiltyard.importers.reading import executions, lines_of

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
