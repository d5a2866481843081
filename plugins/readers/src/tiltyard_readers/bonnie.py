"""bonnie++'s lines of comma-separated values (``-q``), formats 1.96 to 1.98.

``+++++`` is printed where a phase was too short to be timed: that is no value, and no zero. A KB is
1024 B, as bonnie++ counts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.delimited import NoCsvError, fields_of
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import (
    KIB_S,
    MICROSECONDS,
    MILLISECONDS,
    PER_S,
    PERCENT,
    SECONDS,
    metric,
)
from tiltyard.importers.reading import Line, lines_of

_HEAD: Final = ("format", "version", "name", "concurrency", "seed", "size", "chunk")
_SEEKERS: Final = ("seeks", "seekers")
"""Since format 1.98."""
_DATA: Final = ("char_write", "write", "rewrite", "char_read", "read", "seek")
_TREE: Final = ("number", "max_size", "min_size", "directories", "file_chunk")
_FILES: Final = (
    "sequential_create", "sequential_stat", "sequential_delete",
    "random_create", "random_stat", "random_delete",
)  # fmt: skip
_LATENCIES: Final = {"us": MICROSECONDS, "ms": MILLISECONDS, "s": SECONDS}
_SIZES: Final = {"": 2**20, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LINE: Final = re.compile(r"1\.9\d,[12]\.\d\d\w?,.*")


def read(data: bytes, name: str) -> Imported:
    """Every line of values in one file; the machine's name is the system's, if none is given."""
    found: dict[str, list[Measured]] = {"bonnie++": [], "bonnie++ files": []}
    versions = []
    too_fast = 0
    for line in lines_of(data, name):
        if not _LINE.fullmatch(line.text.strip()):
            continue
        fields = _fields(line)
        versions.append(fields["version"])
        too_fast += sum(set(value) == {"+"} for key, value in fields.items() if key in _RATES)
        found["bonnie++"] += _measured(line, fields, _DATA, _data_point(line, fields))
        found["bonnie++ files"] += _measured(line, fields, _FILES, _files_point(line, fields))
    limits = ["bonnie++ tells the longest time of an operation, and no other of its latencies."]
    if too_fast:
        limits.append(
            f"{name}: {too_fast} figures are missing: phases too short for bonnie++ to time."
        )
    return Imported(
        workloads=tuple(
            ImportedWorkload(
                name=key,
                use="bonnie++",
                lineage=f"bonnie++ {versions[0]}",
                metrics=tuple(_metrics(_DATA if key == "bonnie++" else _FILES)),
                measured=tuple(measured),
                grid=tuple(measured[0].at),
            )
            for key, measured in found.items()
            if measured
        ),
        limits=tuple(limits),
    )


_RATES: Final = frozenset((*_DATA, *_FILES))


def _metrics(names: tuple[str, ...]) -> Iterator[CollectedMetric]:
    for name in names:
        label = name.replace("_", " ")
        is_data = name in _DATA and name != "seek"
        yield metric(name, KIB_S if is_data else PER_S, 1 if name == "seek" else 0)
        yield metric(f"{name}_cpu", PERCENT, 0, label=f"{label} CPU", headline=False)
        yield metric(f"{name}_latency", MICROSECONDS, 0, label=f"{label}, longest", headline=False)


def _fields(line: Line) -> Mapping[str, str]:
    """Name → field; which names there are depends on the format.

    Raises:
        UsageError: if there are more or fewer.
    """
    try:
        values = fields_of(line.text.strip(), strict=True)
    except NoCsvError as error:
        raise line.refused(f"not a line of bonnie++: {error}") from error
    seekers = _SEEKERS if values[0] >= "1.98" else ()
    latencies = [f"{name}_latency" for name in (*_DATA, *_FILES)]
    names = [*_HEAD, *seekers, *_with_cpu(_DATA), *_TREE, *_with_cpu(_FILES), *latencies]
    if len(values) != len(names):
        raise line.refused(
            f"{len(values)} fields; a line of bonnie++ of format {values[0]} has {len(names)}"
        )
    return dict(zip(names, values, strict=True)) | {"system": values[2].strip()}


def _with_cpu(names: tuple[str, ...]) -> list[str]:
    return [part for name in names for part in (name, f"{name}_cpu")]


def _measured(
    line: Line, fields: Mapping[str, str], names: tuple[str, ...], at: dict[str, int | str]
) -> Iterator[Measured]:
    system = fields["system"] or None
    for name in names:
        rate, cpu, latency = fields[name], fields[f"{name}_cpu"], fields[f"{name}_latency"]
        unit = KIB_S if name in _DATA and name != "seek" else PER_S
        if _is_told(rate):
            yield Measured(name, at, (unit.value(line.value(rate)),), system=system)
        if _is_told(cpu):
            yield Measured(f"{name}_cpu", at, (PERCENT.value(line.value(cpu)),), system=system)
        if _is_told(latency):
            value = _latency(line, latency)
            yield Measured(f"{name}_latency", at, (value,), system=system)


def _is_told(field: str) -> bool:
    return bool(field) and set(field) != {"+"}


def _latency(line: Line, text: str) -> float:
    match = re.fullmatch(r"(\S*?)(us|ms|s)", text)
    if match is None:
        raise line.refused(f"{text[:40]!a} should be a latency: a number with us, ms or s")
    return _LATENCIES[match[2]].value(line.value(match[1]))


def _data_point(line: Line, fields: Mapping[str, str]) -> dict[str, int | str]:
    return {"file": _size(line, fields["size"]), "threads": line.count(fields["concurrency"])}


def _files_point(line: Line, fields: Mapping[str, str]) -> dict[str, int | str]:
    """Files are counted in units of 1024."""
    number = line.count(fields["number"]) * 1024 if fields["number"] else 0
    size = _size(line, fields["max_size"], 1) if fields["max_size"].isdecimal() else 0
    return {"files": number, "file": size, "threads": line.count(fields["concurrency"])}


def _size(line: Line, text: str, unit: int | None = None) -> int:
    """Bytes of ``16G``; a bare number is in MiB, or in the unit that is printed; none: 0."""
    match = re.fullmatch(r"(\d*)([kKMGT]?)", text)
    if match is None:
        raise line.refused(f"{text[:40]!a} should be a size: a number with k, M or G")
    return line.count(match[1]) * (unit or _SIZES[match[2]]) if match[1] else 0


IMPORTER: Final = Importer(
    name="bonnie",
    about="the comma-separated lines of bonnie++ 1.96 to 2.00 (`-q`); the machine's name (`-m`) is "
    "the system's",
    left_out="seed, chunk size and number of seekers",
    cut_off="lines that are whole are kept",
    repeats="lines of one machine",
    recognises=lambda head: any(_LINE.fullmatch(line.strip()) for line in head.splitlines()),
    read=read,
    metrics=(*_metrics(_DATA), *_metrics(_FILES)),
    grid=("files", "file", "threads"),
)
