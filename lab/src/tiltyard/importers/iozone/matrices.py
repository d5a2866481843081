"""The matrices that ``-R`` prints: one a test, a row for each file, a column for each record."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from tiltyard.importers.iozone.session import Session
from tiltyard.importers.iozone.single import Place
from tiltyard.importers.reading import Line

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
