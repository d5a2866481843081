"""fdtree's four phases. Its clock has whole seconds: a phase of less than one has no rate."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import KIB_S, PER_S, metric
from tiltyard.importers.reading import Line, executions, lines_of

_RATES: Final = {
    "Directory creates per second": "directories_created",
    "File creates per second": "files_created",
    "KiB per second": "data_written",
    "File removals per second": "files_removed",
    "Directory removals per second": "directories_removed",
}
GRID: Final = ("directories", "files", "file")
METRICS: Final = tuple(
    metric(
        name,
        KIB_S if name == "data_written" else PER_S,
        0,
        headline=name != "data_written",
    )
    for name in _RATES.values()
)
_BEGINS: Final = re.compile(r"fdtree-(\S+): starting at .*")
_DIRECTORIES: Final = re.compile(r"\s*for a total of (\d+) directories\s*")
_FILES: Final = re.compile(r"\s*for a total of (\d+) files and (\d+)KiB\s*")
_SIZE: Final = re.compile(r"\s*with (\d+) files of size (\d+)KiB per directory\s*")
_RATE: Final = re.compile(r"\s+(\w+(?: \w+)* per second)\s*=\s*(\S+)\s*")


def read(data: bytes, name: str) -> Imported:
    """Everything that fdtree printed to one file."""
    limits = [
        "fdtree reads a clock of whole seconds and drops the rest of a division: rates of short "
        "phases are coarse."
    ]
    workloads = []
    for execution in executions(lines_of(data, name), _BEGINS):
        measured = list(_measured(execution))
        workloads.append(_workload(execution, measured))
        if any(not one.values for one in measured):
            limits.append(
                f"{name}: phases of less than a second have no rate; fdtree prints them as 0, and "
                "they are missing here. A larger tree would show them."
            )
    return Imported(tuple(workloads), limits=tuple(dict.fromkeys(limits)))


def _workload(lines: Sequence[Line], measured: Sequence[Measured]) -> ImportedWorkload:
    begin = next((m for line in lines if (m := _BEGINS.fullmatch(line.text))), None)
    return ImportedWorkload(
        name="fdtree",
        use="fdtree",
        lineage=f"fdtree {begin[1]}" if begin else "",
        metrics=METRICS,
        measured=tuple(one for one in measured if one.values),
        grid=GRID,
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    """The rates of one execution; without values where none could be given."""
    at: dict[str, int | str] = {}
    for line in lines:
        if match := _DIRECTORIES.fullmatch(line.text):
            at["directories"] = line.count(match[1])
        elif match := _FILES.fullmatch(line.text):
            at["files"] = line.count(match[1])
        elif match := _SIZE.fullmatch(line.text):
            at["file"] = line.count(match[2]) * 1024
        elif match := _RATE.fullmatch(line.text):
            if match[1] not in _RATES:
                raise line.refused("not a rate that fdtree prints")
            if len(at) < 3:
                raise line.refused("the size of the tree is missing above; give the whole output")
            name = _RATES[match[1]]
            unit = KIB_S if name == "data_written" else PER_S
            value = line.value(match[2])
            yield Measured(name, dict(sorted(at.items())), (unit.value(value),) if value else ())


IMPORTER: Final = Importer(
    name="fdtree",
    about="the phases of fdtree 1.0 and of our engine",
    left_out="elapsed times",
    cut_off="rates that are whole are kept; phases that are not there are missing",
    repeats="executions",
    recognises=lambda head: "DIRECTORY CREATE TIME IN, OUT" in head or "fdtree-" in head[:200],
    read=read,
    metrics=METRICS,
    grid=GRID,
)
