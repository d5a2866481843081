"""Every style tells every sort of findings: nothing empty, nothing twice, nothing without words."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from support.told_findings import STUDIES, findings_of
from tiltyard.analysis.model import Findings
from tiltyard.report.document import Document, Section
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style

HOUSE = [style for style in STYLES if style.name != "study"]
SAFE = re.compile(r"[a-z0-9][a-z0-9-]*")


@pytest.fixture(params=HOUSE, ids=[style.name for style in HOUSE])
def style(request: pytest.FixtureRequest) -> Style:
    found = request.param
    assert isinstance(found, Style)
    return found


@pytest.fixture
def document(style: Style, findings: Findings) -> Document:
    return style.compose(findings)


def sections(document: Document) -> Iterator[Section]:
    for section in document.sections:
        yield section
        yield from section.sections


def test_house_styles_are_there() -> None:
    assert [style.name for style in HOUSE] == ["whitepaper", "article", "results"]


def test_names_of_things_are_unique_and_safe(document: Document) -> None:
    ids = [
        *(table.id for table in document.tables()),
        *(figure.id for figure in document.figures()),
        *(section.id for section in sections(document)),
    ]
    assert [id for id, count in Counter(ids).items() if count > 1] == []
    assert [id for id in ids if not SAFE.fullmatch(id)] == []


def test_tables_are_whole(document: Document) -> None:
    for table in document.tables():
        assert table.rows, table.id
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.id
        assert table.closing < len(table.rows), table.id
        assert all(column.head for column in table.columns), table.id


def test_native_charts_point_at_columns_with_numbers(document: Document) -> None:
    for table in document.tables():
        for chart in table.charts:
            assert chart.categories < len(table.columns), table.id
            assert chart.series, table.id
            for column in chart.series:
                assert table.columns[column].figures, table.id
                assert any(row[column].value is not None for row in table.rows), table.id


def test_pictures_have_words(document: Document) -> None:
    for figure in document.figures():
        assert figure.alt.strip(), figure.id
        assert figure.title.strip(), figure.id


def test_sections_have_something_in_them(document: Document) -> None:
    assert all(section.blocks or section.sections for section in sections(document))
    order = [section.appendix for section in document.sections]
    assert order == sorted(order)


def test_a_document_is_the_same_every_time(style: Style, findings: Findings) -> None:
    assert style.compose(findings) == style.compose(findings)


@pytest.mark.parametrize("name", [name for name in STUDIES if name.startswith("printed")])
def test_results_not_run_here_say_so(style: Style, name: str) -> None:
    findings = findings_of(name, 1)
    document = style.compose(findings)
    assert findings.provenance is not None
    assert findings.provenance.title in document.byline
    assert any(section.id == "limits" for section in document.sections)
