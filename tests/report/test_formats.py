"""What holds for every format: the whole document is in it, and no text of it acts."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count

import msgspec
import pytest

from support.documents import everything
from support.printed import READERS, squeezed
from support.specimen import findings as specimen
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.report.document import Document, Entry, Paragraph
from tiltyard.report.formats import FORMATS
from tiltyard.report.formats.format import Format
from tiltyard.report.styles import STYLES
from tiltyard.run.samples import SampleTable

TABLES_ONLY = frozenset({"latex", "csv"})
"""Formats that print the tables of a document and nothing else."""
HOSTILE = (
    '<script>alert("1")</script>',
    '=HYPERLINK("http://example.org")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    r"\input{/etc/passwd} \end{table} $x^2$ % & ~ #1",
    "| a | b ||",
    "```` ``` `code`",
    "[x](javascript:alert(1)) ![y](z) *b* _i_ ~~s~~",
    "#set page(width: 1pt); #eval(1) @label $ 1/2 $ {{ 7 * 7 }}",
    "1. first - second # third > fourth",
    "é ß ↔ 漢字 “quoted”",
)
KEPT = frozenset(
    {"id", "style", "kind", "role", "shade", "verdict", "wide", "narrow", "signs", "charts"}
)
"""Fields that are not text; and native charts, which only a spreadsheet has."""


def texts(part: object) -> Iterator[str]:
    """Every text of a document that is printed whatever the format; numbers are looked at apart."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from texts(one)
    elif isinstance(part, Entry):
        yield part.text if part.value is None else ""
        yield part.beneath if part.beneath_value is None else ""
    elif is_dataclass(part):
        for field in fields(part):
            if field.name not in KEPT:
                yield from texts(getattr(part, field.name))


def disturbed(part: object, hostile: str, number: "count[int]") -> object:
    """A document of which every text is a hostile one, with a number of its own."""
    if isinstance(part, str):
        return f"{hostile} no{next(number)}." if part else part
    if isinstance(part, tuple):
        return tuple(disturbed(one, hostile, number) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        own = {one.name: getattr(part, one.name) for one in fields(part) if one.name not in KEPT}
        changed = {name: disturbed(value, hostile, number) for name, value in own.items()}
        return replace(part, **changed)
    return part


def missing(form: Format, document: Document) -> list[str]:
    """Texts of a document that a format does not show."""
    text = read(form, document)
    tables = tuple(document.tables())
    wanted = texts(tables) if form.name in TABLES_ONLY else texts(document)
    if form.name == "pptx":
        wanted = texts(on_slides(document))
    return [one for one in wanted if one != "–" and not is_in(text, one)]


def on_slides(document: Document) -> tuple[object, ...]:
    """What slides show of a document: its first page, its findings, how it was made."""
    first = (block for block in document.front if isinstance(block, Paragraph))
    findings = (figure for figure in document.figures() if figure.subtitle)
    return (document.title, document.byline, *first, *findings, document.colophon)


def is_in(text: str, wanted: str) -> bool:
    """As it is, or with what the fonts of this host lack spelled by its number (PDF)."""
    letters = squeezed(wanted)
    spelled = "".join(one if one in text else f"[U+{ord(one):04X}]" for one in letters)
    return letters in text or spelled in text


def read(form: Format, document: Document) -> str:
    """All text of a document in a format, without spaces."""
    return squeezed(READERS[form.name](form.render(document, specimen(blocks=2))))


@pytest.fixture(scope="module", params=FORMATS, ids=lambda form: form.name)
def form(request: pytest.FixtureRequest) -> Format:
    found: Format = request.param
    return found


@pytest.fixture(scope="module")
def text(form: Format) -> str:
    return read(form, everything())


def test_every_format_can_be_read_back() -> None:
    assert {form.name for form in FORMATS} <= READERS.keys()


def test_the_file_to_open_is_made(form: Format) -> None:
    files = form.render(everything(), specimen(blocks=2))
    assert form.file in files
    assert not [path for path in files if path.startswith("/") or ".." in path]


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_a_study_whose_values_are_all_zero_or_less_is_printed(form: Format, value: float) -> None:
    """None of its systems has a value that can be compared."""
    plan, run = synthetic_study(("a", "b"), blocks=7)
    trials = []
    for trial in run.trials:
        samples = SampleTable().add(
            [msgspec.structs.replace(one, value=value) for one in trial.samples]
        )
        trials.append(trial.model_copy(update={"samples": samples}))
    findings = analyse(plan, run.model_copy(update={"trials": tuple(trials)}))
    for style in STYLES:
        assert all(form.render(style.compose(findings), findings).values())


def test_the_same_findings_give_the_same_bytes(form: Format) -> None:
    assert form.render(everything(), specimen()) == form.render(everything(), specimen())


def test_every_table_is_there_with_all_its_numbers(form: Format, text: str) -> None:
    # Slides have no tables: their pictures are of the same numbers.
    for table in () if form.name == "pptx" else everything().tables():
        assert squeezed(table.title) in text
        for entry in (entry for row in table.rows for entry in row):
            assert shown(entry.text, entry.value, text), entry
            assert shown(entry.beneath, entry.beneath_value, text), entry


def shown(words: str, value: float | None, text: str) -> bool:
    """As it is read; or as the number that it is, in files for programs and spreadsheets."""
    if words in ("", "–"):
        return True
    numbers = () if value is None else (repr(value), f"{value:g}")
    return any(one in text for one in (squeezed(words), *numbers))


def test_every_text_is_there(form: Format) -> None:
    assert missing(form, everything()) == []


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_text_stays_text(form: Format, hostile: str) -> None:
    document = disturbed(everything(), hostile, count())
    assert isinstance(document, Document)
    assert missing(form, document) == []
