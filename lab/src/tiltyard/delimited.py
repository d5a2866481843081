"""CSV as RFC 4180 has it: commas, CRLF, quotes only where they are needed; UTF-8.

A spreadsheet takes a text that begins with ``=`` for a formula, and may execute it. Such texts are
written with an apostrophe before them, which a spreadsheet shows as text; :func:`undefused` takes
it away again. Numbers are written as they are.
"""

import csv
import re
from collections.abc import Iterable, Sequence
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
