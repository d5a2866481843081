"""Rows of the findings that are made when they are first read."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import pytest
from pydantic import BaseModel

from support.synthetic import synthetic_study
from tiltyard.analysis import tables
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Summary
from tiltyard.analysis.rows import MADE_WHEN_READ, Rows
from tiltyard.analysis.tables import ComparisonBuilder


class Table(BaseModel):
    rows: Annotated[Sequence[int], MADE_WHEN_READ]


def test_rows_are_made_once_and_only_when_one_is_read() -> None:
    calls = []

    def make() -> Iterator[int]:
        calls.append(1)
        return iter((1, 2, 3))

    table = Table(rows=Rows(make))
    assert not calls
    assert table.rows == (1, 2, 3) == tuple(table.rows)
    assert (table.rows[1], len(table.rows), table.rows[1:]) == (2, 3, (2, 3))
    assert len(calls) == 1
    assert hash(table.rows) == hash((1, 2, 3))


def test_rows_that_are_only_written_are_not_kept() -> None:
    calls = []

    def make() -> Iterator[int]:
        calls.append(1)
        return iter((1, 2))

    table = Table(rows=Rows(make))
    assert table.model_dump_json() == table.model_dump_json() == '{"rows":[1,2]}'
    assert len(calls) == 2
    assert table.rows == (1, 2)
    assert table.model_dump_json() == '{"rows":[1,2]}'
    assert len(calls) == 3


def test_they_are_written_and_read_as_a_list() -> None:
    table = Table(rows=Rows(lambda: (1, 2)))
    assert table.model_dump_json() == '{"rows":[1,2]}'
    assert table.model_dump() == {"rows": (1, 2)}
    assert Table.model_validate_json('{"rows":[1,2]}') == table
    assert Table.model_json_schema()["properties"]["rows"]["items"] == {"type": "integer"}
    with pytest.raises(ValueError, match="rows"):
        Table.model_validate({"rows": ["a"]})


def test_the_analysis_makes_no_summary_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(tables, "Summary", lambda **own: made.append(1) or Summary(**own))
    findings = analyse(*synthetic_study(workloads=("iozone",), blocks=7))
    assert not made
    assert all(len(cell.summaries) == 3 for cell in findings.workloads[0].cells)
    assert len(made) == 3 * 78


def test_a_comparison_of_a_cell_is_worded_once_for_headline_and_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worded = []
    comparison = ComparisonBuilder.comparison
    monkeypatch.setattr(
        ComparisonBuilder, "comparison", lambda *own: worded.append(1) or comparison(*own)
    )
    findings = analyse(*synthetic_study(workloads=("iozone",), blocks=7))
    before = len(worded)
    assert all(len(cell.comparisons) == 3 for cell in findings.workloads[0].cells)
    assert len(worded) == before
    assert before >= 3 * 78
