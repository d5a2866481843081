"""The table of one stream: rows of figures that may touch each other.

Figures are right-justified in columns and nothing parts them, so a fast system's run together. A
row of as many words as there are figures is read by its words; any other by the widths of the
version, if there is exactly one way to read it so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Final

from tiltyard.importers.reading import Line
from tiltyard_readers.iozone.columns import METRICS, TESTS, Layout, Test, layouts
from tiltyard_readers.iozone.session import Session

Place = tuple[str, int, int]
"""Metric, bytes of the file, bytes of the record."""

_JUSTIFIED: Final = re.compile(r"([ \d]{15}\d)([ \d]{7}\d)(.*)", re.ASCII)
_ROW: Final = re.compile(r"\s*(\d{1,16})\s+(\d{1,8})(?=\s|$)(.*)", re.ASCII)
_HEAD: Final = re.compile(r"\s*[kK]B\s+reclen\s")
_MOST_READINGS: Final = 2
_WIDEST: Final = 24
"""Signs of a figure."""
_NARROWEST: Final = 8
"""Signs of a column: a word that is longer is more than one figure."""


def rows(session: Session, matrices: Mapping[Place, Fraction]) -> Iterator[tuple[Place, Fraction]]:
    """Every figure of the tables of a session; zeros too.

    Args:
        session: an execution.
        matrices: what its matrices say, for ambiguous rows.

    Raises:
        UsageError: if a row can be read in no way, or in several; or contradicts the matrices.
    """
    tests: tuple[Test, ...] | None = None
    for line in session.lines:
        if _HEAD.match(line.text):
            tests = _tests(line)
        elif tests and (match := _row(line.text.rstrip())):
            file, record = int(match[1]) * 1024, int(match[2]) * 1024
            names, values = _figures(line, match[3], session, tests)
            if values is None:
                _in_matrices(line, names, (file, record), matrices)
                continue
            for name, value in zip(names, values, strict=True):
                printed = matrices.get((name, file, record))
                if printed and value and printed != value:
                    raise line.refused(
                        f"the table says {value} of {name.replace('_', ' ')}, the matrix below "
                        f"{printed}; the file is damaged"
                    )
                yield (name, file, record), value
        elif tests and not line.text.strip():
            tests = None
        elif tests and re.match(r"\s*\d", line.text):
            raise line.refused("not a row of IOzone's table: file, record and figures")


def _row(text: str) -> re.Match[str] | None:
    """File, record and the figures of a row; the first figure may touch the record."""
    match = _JUSTIFIED.fullmatch(text)
    if match and all(part.strip().isdecimal() for part in match.groups()[:2]):
        return match
    return _ROW.fullmatch(text)


def _in_matrices(
    line: Line, names: Sequence[str], size: tuple[int, int], matrices: Mapping[Place, Fraction]
) -> None:
    """Refuse an ambiguous row, unless the matrices have its figures."""
    if any((name, *size) in matrices for name in names):
        return
    figures = line.words[2:]
    if all(len(figure) <= _NARROWEST for figure in line.words):
        raise line.refused(
            f"{len(figures)} figures where IOzone prints {len(names)}: it stopped in this row, or "
            "something else was printed into it; take the row out"
        )
    raise line.refused(
        f"figures run together and can be read in no single way as {len(names)} figures; "
        "add -R to the command line and give that output"
    )


def _tests(head: Line) -> tuple[Test, ...]:
    """The tests that have columns, by how many names the head has."""
    known = METRICS[: len(head.words) - 2]
    tests = tuple(test for test in TESTS if set(test.metrics) <= set(known))
    if sum(len(test.metrics) for test in tests) != len(head.words) - 2:
        raise head.refused("not the head of a table of IOzone")
    return tests


def _figures(
    line: Line, text: str, session: Session, tests: tuple[Test, ...]
) -> tuple[list[str], list[Fraction] | None]:
    """Names and figures of a row; ``None`` where the row is ambiguous."""
    names = [name for test in tests if test.number in session.selected for name in test.metrics]
    words = text.split()
    if any(not word.isdecimal() for word in words):
        raise line.refused("something else stands in a row of figures; take it out or the row")
    if len(words) == len(names):
        return names, [line.value(word) for word in words]
    found = {
        reading
        for layout in layouts(session.version_number)
        for reading in _readings(text, layout, session, tests)
    }
    if not found and len(words) > len(names):
        raise line.refused(f"{len(words)} figures where IOzone prints {len(names)}")
    return names, [line.value(word) for word in next(iter(found))] if len(found) == 1 else None


def _readings(
    text: str, layout: Layout, session: Session, tests: tuple[Test, ...]
) -> tuple[tuple[str, ...], ...]:
    """The ways to read a row with the widths of a layout; at most two.

    A figure that overflows its width pushes all after it to the right.
    """
    fields = layout.fields(session.selected, tests)
    while fields and not fields[-1][0]:
        fields.pop()

    @cache
    def split(begin: int, place: int) -> tuple[tuple[str, ...], ...]:
        """The ways to read the text from a sign on as the fields from one on."""
        if place == len(fields):
            return ((),) if begin == len(text) else ()
        name, width = fields[place]
        if not name:
            blank = not text[begin : begin + width].strip()
            return split(begin + width, place + 1) if blank else ()
        ways = [
            (figure, *more)
            for end in range(begin + width, min(len(text), begin + _WIDEST) + 1)
            if (figure := _figure(text[begin:end], width))
            for more in split(end, place + 1)
        ]
        return tuple(ways[:_MOST_READINGS])

    return split(0, 0)


def _figure(field: str, width: int) -> str:
    """A figure, right-justified in its width or wider without a blank; else nothing."""
    figure = field.lstrip(" ")
    if not figure.isdecimal() or (figure.startswith("0") and figure != "0"):
        return ""
    return figure if len(field) == width or len(figure) == len(field) else ""
