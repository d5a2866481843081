"""The table of :mod:`tiltyard.exporters.csv` with types, in a tenth of the space."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import Field
from tiltyard.exporters.csv import tidy
from tiltyard.exporters.exporter import Exporter

if TYPE_CHECKING:
    from pyarrow import DataType, Table

_COUNTS = frozenset({"block", "n"})
_NUMBERS = frozenset({"value", "sd", "se"})


def arrow_table(findings: Findings) -> "Table":
    """The values; the question and the hash of the plan are in its metadata."""
    from pyarrow import array, schema, table

    heads, rows = tidy(findings)
    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    types = [_type(head, column) for head, column in zip(heads, columns, strict=True)]
    arrays = [
        array(_typed(column, kind), type=kind) for column, kind in zip(columns, types, strict=True)
    ]
    about = {
        "question": findings.question,
        "plan_hash": findings.plan_hash,
        "tiltyard": findings.tiltyard,
    }
    return table(arrays, schema=schema(list(zip(heads, types, strict=True)), metadata=about))


def render(findings: Findings) -> bytes:
    """The file."""
    from pyarrow.parquet import write_table

    data = BytesIO()
    write_table(arrow_table(findings), data, compression="zstd")
    return data.getvalue()


def _type(head: str, column: Sequence[Field]) -> "DataType":
    """Of a dimension: integers if all of its levels are, and none is beyond 64 bits."""
    from pyarrow import float64, int64, string

    if head in _NUMBERS:
        return float64()
    if head in _COUNTS:
        return int64()
    levels = {level for level in column if level is not None}
    counted = all(isinstance(level, int) and level < 2**63 for level in levels)
    return int64() if head.startswith("at_") and levels and counted else string()


def _typed(column: Sequence[Field], kind: "DataType") -> Sequence[Field]:
    """Levels of a dimension that has numbers and words are all words."""
    if str(kind) != "string":
        return column
    return [field if field is None else str(field) for field in column]


EXPORTER = Exporter(
    name="parquet",
    about="the same with types, for DuckDB, Spark, Polars",
    file="values.parquet",
    render=render,
    text=False,
)
