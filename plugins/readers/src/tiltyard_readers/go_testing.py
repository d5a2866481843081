"""What ``go test -bench`` prints, of one package or several; ``-count`` repeats in one process.

The number at the end of a name is GOMAXPROCS, no part of it: a parameter where it is the same for
all of a file, else (``-cpu``) it tells them apart, as packages do.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, detail, single
from tiltyard.importers.json_file import texts_of
from tiltyard.importers.quantities import (
    BYTES,
    BYTES_S,
    COUNT,
    NANOSECONDS,
    Unit,
    metric,
    unit_named,
)
from tiltyard.importers.reading import Line, head_of, lines_of
from tiltyard.units import agreeing, few

_MB_S: Final = unit_named("MB/s") or BYTES_S
_UNITS: Final = {
    "ns/op": ("time", NANOSECONDS),
    "MB/s": ("throughput", _MB_S),
    "B/op": ("allocated", BYTES),
    "allocs/op": ("allocations", COUNT),
}
METRICS: Final = (
    metric("time", NANOSECONDS, None, label="time of an operation"),
    metric("throughput", _MB_S, 2, headline=False),
    metric("allocated", BYTES, 0, label="allocated by an operation", headline=False),
    metric("allocations", COUNT, 0, label="allocations of an operation", headline=False),
)
_RESULT: Final = re.compile(r"Benchmark(\S+?)(?:-(\d+))?\s+(\d+)((?:\s+\S+ \S+)+)\s*")
_ROW: Final = re.compile(r"^Benchmark\S+[ \t]+\d+[ \t]+[\d.e+-]+ [^\s\d]\S*", re.MULTILINE)
_BEGUN: Final = re.compile(r"(Benchmark\S+)\s*\t")
_FIGURES: Final = re.compile(r"\s*\d+\s+\S+ ns/op.*")
_EVENT: Final = re.compile(r'^\{"(?:Time|Action)":.*"Output":', re.MULTILINE)
_FACTS: Final = re.compile(r"(goos|goarch|cpu): (.+)")
_PACKAGE: Final = re.compile(r"pkg: (\S+)")


def read(data: bytes, name: str) -> Imported:
    """The benchmarks that one ``go test`` ran."""
    lines = lines_of(_printed(data, name), name)
    packages = dict.fromkeys(m[1] for one in lines if (m := _PACKAGE.fullmatch(one.text)))
    processors = {m[2] or "1" for one in lines if (m := _RESULT.fullmatch(one.text))}
    facts = {m[1]: m[2] for one in lines if (m := _FACTS.fullmatch(one.text))}
    limits: list[str] = []
    measured = tuple(_measured(lines, processors, limits))
    failed = [line.text for line in lines if line.text.startswith("--- FAIL: ")]
    limits += [f"{name}: {line.removeprefix('--- ')}." for line in failed]
    return single(
        use="go test -bench",
        metrics=METRICS,
        measured=measured,
        parameters={
            **({"packages": ", ".join(packages)} if packages else {}),
            **({"GOMAXPROCS": next(iter(processors))} if len(processors) == 1 else {}),
        },
        grid=("benchmark",),
        facts=facts,
        limits=tuple(dict.fromkeys(limits)),
    )


def _printed(data: bytes, name: str) -> bytes:
    """The text of ``go test -json``, which is a JSON text for each piece of it, by package."""
    if not _EVENT.search(head_of(data[: 2**16])):
        return data
    pieces: dict[str, list[str]] = {}
    for _, event in texts_of(data, name):
        package, output = event.get("Package"), event.get("Output")
        if output is not None:
            pieces.setdefault(package.text() if package else "", []).append(output.text())
    return "".join(piece for own in pieces.values() for piece in own).encode()


def _measured(lines: Sequence[Line], processors: Set[str], limits: list[str]) -> Iterator[Measured]:
    """Each figure of each result, under its package."""
    package = begun = ""
    of_program: dict[str, None] = {}
    for line in lines:
        if begun and (match := _FIGURES.fullmatch(line.text)):
            # What a program logs stands between a name and its figures.
            line, begun = replace(line, text=f"{begun} {match[0].strip()}"), ""
        elif match := _BEGUN.match(line.text):
            if begun:
                limits.append(f"{line.file}: {begun} left out: its figures are not there.")
            begun = "" if _RESULT.fullmatch(line.text) else match[1]
        if match := _PACKAGE.fullmatch(line.text):
            package = match[1]
        elif match := _RESULT.fullmatch(line.text):
            words = match[4].split()
            at: dict[str, int | str] = {"benchmark": match[1]}
            several = f"GOMAXPROCS={match[2] or 1}" if len(processors) > 1 else ""
            apart = {"benchmark": (package, several)}
            for text, unit in zip(words[::2], words[1::2], strict=True):
                if unit not in _UNITS:
                    of_program[unit] = None
                    continue
                name, known = _UNITS[unit]
                figure = partial(_figure, line, name, text, known)
                for one in detail(f"{line.file}: {match[1]}: {unit}", figure, limits):
                    yield replace(one, at=at, apart=apart)
    if of_program:
        what = agreeing(len(of_program), "a metric", "metrics")
        limits.append(f"{lines[0].file}: left out, {what} of the program: {few([*of_program])}.")
    if begun:
        limits.append(f"{lines[0].file}: {begun} left out: its figures are not there.")


def _figure(line: Line, name: str, text: str, unit: Unit) -> Measured:
    return Measured(name, values=(unit.value(line.value(text)),))


IMPORTER: Final = Importer(
    name="go-test",
    about="what `go test -bench` prints, also with `-json`: ns/op, MB/s, B/op, allocs/op",
    left_out="counts of iterations; metrics of the program (`ReportMetric`), which are named",
    cut_off="benchmarks that are there are kept",
    repeats="`-count`",
    recognises=lambda head: (
        bool(_ROW.search(head)) or (bool(_EVENT.search(head)) and " ns/op" in head)
    ),
    read=read,
    metrics=METRICS,
    grid=("benchmark",),
)
