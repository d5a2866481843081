"""Criterion.rs: its own text, its bencher format, cargo-criterion's messages, ``estimates.json``.

The benchmark of ``estimates.json`` is named by its directory (``criterion/NAME/new/``).
Benchmarks of one name are told apart by cargo's lines on what it runs, where these are in the text.
Of the text the middle of the three estimates is read, its best one: the slope, or the mean where
there is none.
The bencher format, which is libtest's, rounds to whole ns.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.json_file import json_of
from tiltyard.importers.quantities import BYTES_S, NANOSECONDS, PER_S, Unit, metric, unit_named
from tiltyard.importers.reading import Line, head_of, lines_of, shown

METRICS: Final = (
    metric("time", NANOSECONDS, None, label="time of an iteration"),
    metric("throughput", BYTES_S, None, headline=False),
    metric("elements", PER_S, None, headline=False),
)
_TIME: Final = re.compile(r"(\S.*?)?\s+time:\s+\[\S+ \S+ (\S+) (\S+) \S+ \S+\]")
_TIMED: Final = re.compile(
    r"^(?:\S.*[^\S\n]|[^\S\n]+)time:\s+\[\S+ \S+ \S+ \S+ \S+ \S+\]", re.MULTILINE
)
"""In one pass, whatever blanks and empty lines there are."""
_THROUGHPUT: Final = re.compile(r"\s+thrpt:\s+\[\S+ \S+ (\S+) (\S+) \S+ \S+\]")
_RUNNING: Final = re.compile(r"\s*Running .*?([\w-]+)-([0-9a-f]{16})\)?\s*")
"""Cargo's line on the program that runs next: its target, and a hash."""
_BENCHER: Final = re.compile(r"test (.+?)\s+\.\.\. bench:\s+(\S+) ns/iter \(\+/- \S+\).*")
_MESSAGE: Final = '"reason":"benchmark-complete"'
_PLACE: Final = re.compile(r"(?:^|/)criterion/(.+)/[^/]+/estimates\.json")
_NAME: Final = re.compile(r"[^\s:\[(].*[^:]|[^\s:]")


def read(data: bytes, name: str) -> Imported:
    """The benchmarks of one ``cargo bench`` or ``cargo criterion``."""
    estimates = head_of(data[:256]).startswith('{"mean":{"confidence_interval"')
    lines = [] if estimates else lines_of(data, name)
    limits: list[str] = []
    return single(
        use="Criterion",
        metrics=METRICS,
        measured=(
            tuple(_estimates(data, name))
            if estimates
            else (*_text(lines, limits), *_bencher(lines), *_messages(lines))
        ),
        grid=("benchmark",),
        limits=(
            *limits,
            "Criterion's samples are of one process: its interval says how well they repeat in "
            "there, and is not used.",
        ),
    )


def _estimates(data: bytes, name: str) -> Iterator[Measured]:
    """One benchmark; slope and mean are in ns."""
    place = _PLACE.search(name)
    top = json_of(data, name)
    best = (top.get("slope") or top["mean"])["point_estimate"]
    at: dict[str, int | str] = {"benchmark": place[1] if place else "benchmark"}
    yield Measured("time", at, (NANOSECONDS.value(best.value()),))


def _text(lines: Sequence[Line], limits: list[str]) -> Iterator[Measured]:
    """``NAME  time: [low best high]``; a long name stands alone in the line before."""
    benchmark = before = ""
    targets: dict[str, dict[str, None]] = {}
    apart = ("",)
    for line in lines:
        if match := _RUNNING.fullmatch(line.text):
            # Targets of one name are of several crates; a hash is another one on each machine.
            own = targets.setdefault(match[1], {})
            own.setdefault(match[2])
            place = 1 + list(own).index(match[2])
            apart = (f"{match[1]} {place}" if place > 1 else match[1],)
        elif match := _TIME.fullmatch(line.text):
            benchmark = match[1] or before
            if not benchmark:
                raise line.refused("a time without the name of its benchmark")
            if not _unit(match[3]):
                limits.append(f"{line.file}: {benchmark} left out: {shown(match[3])} is no time.")
                continue
            yield replace(_value(line, benchmark, match[2], match[3]), apart={"benchmark": apart})
        elif benchmark and (match := _THROUGHPUT.fullmatch(line.text)):
            yield replace(_value(line, benchmark, match[1], match[2]), apart={"benchmark": apart})
        before = line.text.strip() if _NAME.fullmatch(line.text) else ""


def _value(
    line: Line, benchmark: str, text: str, printed: str, *, grouped: bool = False
) -> Measured:
    """A time, or a rate of bytes or elements."""
    unit = _unit(printed)
    names = {"s": "time", "B/s": "throughput", "1/s": "elements"}
    if unit is None or unit.base not in names:
        raise line.refused(f"{shown(printed)} should be a time, or bytes or elements per second")
    at: dict[str, int | str] = {"benchmark": benchmark}
    return Measured(names[unit.base], at, (unit.value(line.value(text, grouped=grouped)),))


def _unit(printed: str) -> Unit | None:
    """What a unit is worth; ``None``: of another measurement, such as cycles."""
    if match := re.fullmatch(r"([KMG]?)elem/s", printed):
        return unit_named(f"{match[1]}ops/s")
    if printed == "ps":
        return Unit("ps", "s", NANOSECONDS.factor / 1000)
    return unit_named(printed)


def _bencher(lines: Sequence[Line]) -> Iterator[Measured]:
    for line in lines:
        if match := _BENCHER.fullmatch(line.text):
            yield _value(line, match[1], match[2], "ns", grouped=True)


def _messages(lines: Sequence[Line]) -> Iterator[Measured]:
    """One JSON text a line, among those of cargo."""
    for line in lines:
        if _MESSAGE not in line.text.replace('": "', '":"'):
            continue
        top = json_of(line.text.encode(), f"{line.file}:{line.number}")
        typical = top.get("typical") or top["mean"]
        unit = typical["unit"].text()
        time = _value(line, top["id"].text(), typical["estimate"].text(), unit)
        yield time
        for amount in top["throughput"].entries():
            name = {"bytes": "throughput", "elements": "elements"}.get(amount["unit"].text())
            if name and time.values[0]:
                rate = float(amount["per_iteration"].value()) / time.values[0]
                yield Measured(name, time.at, (rate,))


IMPORTER: Final = Importer(
    name="criterion",
    about="`cargo bench` with Criterion.rs, also `-- --output-format bencher`; "
    "`cargo criterion --message-format=json`; `estimates.json`",
    left_out="limits of estimates, changes since the last run, outliers",
    cut_off="benchmarks that are there are kept",
    recognises=lambda head: (
        bool(_TIMED.search(head))
        or bool(re.search(r"^test .+ \.\.\. bench:\s+\S+ ns/iter", head, re.MULTILINE))
        or head.startswith('{"mean":{"confidence_interval"')
        or _MESSAGE in head.replace('": "', '":"')
    ),
    read=read,
    metrics=METRICS,
    grid=("benchmark",),
)
