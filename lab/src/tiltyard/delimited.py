"""CSV as RFC 4180 has it: commas, CRLF, quotes only where they are needed; UTF-8.

A spreadsheet takes a text that begins with ``=`` for a formula, and may execute it. Such texts are
written with an apostrophe before them, which a spreadsheet shows as text; :func:`undefused` takes
it away again. Numbers are written as they are.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Final

from tiltyard.printable import visible

_FORMULA: Final = re.compile(r"'*[=+@\t\r-](?s:.)")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def delimited(heads: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> bytes:
    """A whole CSV file.

    Numbers have as many digits as bring the same number back; ``None`` is an empty field.
    """
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_written(field) for field in row] for row in (heads, *rows))
    return text.getvalue().encode()


class NoCsvError(ValueError):
    """A line is not CSV, or has a field of more than 128 KiB.

    Attributes:
        line: number of lines before the row that begins there.
    """

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.line = line


def rows_of(
    lines: Iterable[str], delimiter: str = ",", *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV that somebody else has written, each with the number of lines before it.

    Args:
        lines: with their ends, where a field may hold one.
        delimiter: what stands between fields.
        strict: quotes that do not fit are an error.

    Raises:
        NoCsvError: at the first that cannot be read.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    before = 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise NoCsvError(str(error), before) from error
        yield before, row
        before = reader.line_num


def fields_of(line: str, delimiter: str = ",", *, strict: bool = False) -> list[str]:
    """The fields of one line; of an empty one none.

    Raises:
        NoCsvError: as :func:`rows_of`.
    """
    return next((row for _, row in rows_of([line], delimiter, strict=strict)), [])


def undefused(field: str) -> str:
    """The text that a field was before it was written by :func:`delimited`."""
    return field[1:] if field.startswith("'") and _FORMULA.match(field) else field


def _written(field: str | float | None) -> str | float | None:
    """A field that no spreadsheet computes and no terminal obeys."""
    if not isinstance(field, str):
        return field
    # Line ends of a field are the field's own; quotes keep them in it.
    shown = "\r\n".join(map(visible, field.split("\r\n")))
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.fullmatch(shown) else shown
