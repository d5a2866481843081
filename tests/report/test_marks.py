"""An interval that was widened to no difference has a mark where it stands, in every format."""

from functools import cache

import pytest

from support.printed_verdicts import terminal, text_in
from support.publications import PUBLISHED
from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import interval_text
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.statements.numbers import WIDENED, widened_note
from tiltyard.report.document import Document
from tiltyard.report.marks import with_marks_explained
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard.report.title_case import with_capitals
from tiltyard_published.read import read_publication

TESTS = tuple(f"test {number}" for number in range(8))
FORMATS = ("csv", "html", "json", "latex", "markdown", "xlsx")


@cache
def ours() -> Findings:
    """Eight tests, one of which differs by as much as alone, and not among eight, is shown."""
    shape = Shape(tuple(card(name, name, "B/s") for name in TESTS), dict.fromkeys(TESTS, 1e9))
    return analyse(
        *synthetic_study(
            ("ext4", "xfs"),
            ("suite",),
            blocks=20,
            seed=5,
            noise=0.03,
            effects={("xfs", TESTS[0]): 1.025},
            shapes={"suite": shape},
        )
    )


@cache
def kernels() -> Findings:
    return analyse_collection(read_publication(PUBLISHED / "linux-3.13").collection)


STUDIES = {"kernels": kernels, "ours": ours}


def composed(style: Style, findings: Findings) -> Document:
    return with_capitals(with_marks_explained(style.compose(findings)), findings)


def widened(findings: Findings) -> list[Comparison]:
    tables = (of for own in findings.workloads for of in own.compared)
    pairs = (pair for of in tables for pair in of.comparisons if pair.extended)
    return [side for pair in pairs for side in (pair, turned(pair))]


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_each_table_marks_them_and_counts_its_own(name: str) -> None:
    findings, marked = STUDIES[name](), 0
    pairs = [pair for own in findings.workloads for of in own.compared for pair in of.comparisons]
    others = {interval_text(side) for pair in pairs for side in (pair, turned(pair))}
    bare = {interval_text(pair).replace(WIDENED, "") for pair in widened(findings)} - others
    assert bare
    for table in (table for style in STYLES for table in composed(style, findings).tables()):
        entries = [entry for row in table.rows for entry in row]
        texts = [text for entry in entries for text in (entry.text, entry.beneath)]
        assert not bare & {text.partition("(")[2].rstrip(")") or text for text in texts}
        count = sum(text.count(WIDENED) for text in texts)
        assert (widened_note(count) in table.caption) == bool(count), table.title
        marked += count
    assert marked


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_mark_is_in_every_format(name: str, format: str) -> None:
    findings = STUDIES[name]()
    for style in STYLES:
        document = composed(style, findings)
        if any(WIDENED in entry.beneath + entry.text for table in document.tables()
               for row in table.rows for entry in row):  # fmt: skip
            assert WIDENED in text_in(format, document, findings)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_notice_counts_them_once(name: str) -> None:
    findings = STUDIES[name]()
    (notice,) = [one.text for one in findings.notices if "widened" in one.text]
    tables = [*(of for own in findings.workloads for of in own.compared)]
    pairs = [pair for of in tables for pair in of.comparisons] + [*findings.overall]
    assert notice == widened_note(len({pair.sentence for pair in pairs if pair.extended}))


def test_the_terminal_marks_them() -> None:
    findings = ours()
    index = findings.workloads[0].index
    pair = next(pair for pair in widened(findings) if pair.against == "ext4")
    standings = tuple(
        own if own.comparison is None else own.model_copy(update={"comparison": pair})
        for own in index.standings
    )
    workload = findings.workloads[0].model_copy(
        update={"index": index.model_copy(update={"standings": standings})}
    )
    shown = terminal(findings.model_copy(update={"workloads": (workload,)}))
    assert interval_text(pair) in shown
    assert widened_note(1) in shown


def test_what_no_pair_is_stands_in_no_legend() -> None:
    """Of two file systems one is twice as fast everywhere; of two others nothing is decided."""
    shape = Shape(
        (card("write", "write", "B/s"),),
        {"write": 1e9},
        grid=("loop",),
        points=({"loop": 1}, {"loop": 2}, {"loop": 3}),
    )
    legends = {}
    for name, effect in (("decided", 2.0), ("open", 1.01)):
        found = analyse(
            *synthetic_study(
                ("ext4", "xfs"),
                ("suite",),
                blocks=20,
                noise=0.05,
                effects={"xfs": effect},
                shapes={"suite": shape},
            )
        )
        documents = [composed(style, found) for style in STYLES]
        parts = [part for own in documents for part in (*own.tables(), *own.figures())]
        legends[name] = [part.title for part in parts if "? undecided" in part.caption]
    assert legends["decided"] == []
    assert legends["open"]
