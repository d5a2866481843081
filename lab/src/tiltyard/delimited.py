"""CSV as RFC 4180 has it: commas, CRLF, quotes only where they are needed; UTF-8.

Fields are written as they are. A spreadsheet may take a text that begins with ``=`` for a formula;
an apostrophe before it would be false data for every other reader.
"""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO


def delimited(heads: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> bytes:
    """A whole CSV file.

    Numbers have as many digits as bring the same number back; ``None`` is an empty field.
    """
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue().encode()
