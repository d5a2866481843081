"""A table of a printed study: CSV, as it was printed, every number with its place."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.delimited import NoCsvError, fields_of
from tiltyard.errors import UsageError
from tiltyard.study.problems import shown
from tiltyard.units import count_of
from tiltyard_published.file import PrintedTable

REMARK: Final = "#"
"""Lines that begin so say where the numbers are printed; they are not part of the table."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True)
class Printed:
    """One printed number, and what its table, row and column say of it."""

    text: str
    says: Mapping[str, str]
    """``workload``, ``system``, ``metric``, ``statistic`` or a dimension → as it is typed."""
    row: tuple[str, ...]
    """The leading cells."""
    column: str
    source: Path
    line: int

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.text.partition(".")[2])

    def error(self, what: str) -> UsageError:
        """What is wrong with it, with its place."""
        return UsageError(f'{self.source}:{self.line}: column "{self.column}": {what}')


def read_table(path: Path, table: PrintedTable) -> list[Printed]:
    """The numbers of a table in reading order; empty cells are not among them.

    Raises:
        UsageError: if the file cannot be read or is not such a table; it names file and line,
            and the column of a number.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not a text file in UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    rows = _rows(path, text)
    line, heads = next(rows, (1, []))
    leading = list(table.rows)
    if heads[: len(leading)] != leading:
        there = shown(",".join(heads))
        raise UsageError(
            f"{path}:{line}: the first columns are to be {', '.join(leading)}; here is {there}"
        )
    if missing := [name for name in table.advantages if name not in heads]:
        raise UsageError(f'{path}:{line}: there is no column "{missing[0]}"')
    if len(set(heads)) < len(heads):
        raise UsageError(f"{path}:{line}: two columns have the same heading")
    found: list[Printed] = []
    for line, cells in rows:
        if len(cells) != len(heads):
            raise UsageError(
                f"{path}:{line}: {count_of(len(cells), 'cell')} under {len(heads)} headings"
            )
        found += _numbers(path, table, heads, line, cells)
    return found


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines of the table with their numbers in the file, without remarks and empty lines."""
    for line, content in enumerate(text.splitlines(), 1):
        if content.strip() and not content.startswith(REMARK):
            try:
                yield line, [cell.strip() for cell in fields_of(content, strict=True)]
            except NoCsvError as error:
                raise UsageError(f"{path}:{line}: this is not CSV: {error}") from error


def _numbers(
    path: Path, table: PrintedTable, heads: list[str], line: int, cells: list[str]
) -> Iterator[Printed]:
    count = len(table.rows)
    said = dict(table.fixed)
    if cells[0] not in table.averages:
        said |= dict(zip(table.rows.values(), cells[:count], strict=True))
    for head, text in zip(heads[count:], cells[count:], strict=True):
        if not text:
            continue
        own = {} if head in table.advantages else {table.columns: head}
        printed = Printed(text, {**said, **own}, tuple(cells[:count]), head, path, line)
        if not _NUMBER.fullmatch(text):
            what = f"{shown(text)} is not a number. A number is digits with a point: 897.68"
            raise printed.error(what)
        yield printed
