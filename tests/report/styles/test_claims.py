"""A sentence never says what no table of its document says: its numbers are looked up there."""

import re
from collections.abc import Iterator

import pytest

from support.told_findings import STUDIES, findings_of
from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.registry import Claim, claims
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.report.document import Document, Paragraph, Sentences
from tiltyard.report.styles import STYLES

HOUSE = [style for style in STYLES if style.name != "study"]
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def names(findings: Findings) -> list[str]:
    """Everything with digits in it that is no statement: systems, workloads, places."""
    found = {findings.baseline}
    for system in findings.systems:
        found |= {system.name, *system.levels.values()}
    for workload in findings.workloads:
        found.add(workload.name)
        for cell in (*workload.cells, *(workload.latencies.cells if workload.latencies else ())):
            found |= {cell.label, cell.at_label}
    return sorted(filter(None, found), key=len, reverse=True)


def numbers(sentence: str, known: list[str]) -> list[str]:
    """The numbers of a sentence, without those in names."""
    for name in known:
        sentence = sentence.replace(name, "…")
    return NUMBER.findall(sentence)


def printed(document: Document) -> set[str]:
    """Every number in an entry of a table, beside or beneath."""
    return {
        number
        for table in document.tables()
        for row in table.rows
        for entry in row
        for text in (entry.text, entry.beneath)
        for number in NUMBER.findall(text)
    }


def told(document: Document, findings: Findings) -> Iterator[Claim]:
    """The claims that a document makes, in lists and in running text."""
    texts: set[str] = set()
    for block in document.blocks():
        if isinstance(block, Sentences):
            texts.update(block.items)
        if isinstance(block, Paragraph):
            texts.add(block.text)
    running = " ".join(texts)
    return (claim for claim in claims(findings) if claim.sentence in running)


def test_the_numbers_of_a_sentence_are_those_it_was_made_of(seeded: Findings) -> None:
    known = names(seeded)
    for claim in claims(seeded):
        assert numbers(claim.sentence, known) == list(claim.figures), claim.sentence


@pytest.mark.parametrize("style", HOUSE, ids=[style.name for style in HOUSE])
def test_every_number_of_a_sentence_stands_in_a_table(style, seeded: Findings) -> None:  # type: ignore[no-untyped-def]
    document = style.compose(seeded)
    known, shown = names(seeded), printed(document)
    for claim in told(document, seeded):
        missing = [number for number in numbers(claim.sentence, known) if number not in shown]
        assert not missing, (claim.sentence, missing)


@pytest.mark.parametrize(
    ("style", "kinds"),
    [
        ("whitepaper", {"level", "lead", "ahead", "average", "first"}),
        ("article", {"level", "lead", "first", "deviation", "standing"}),
        ("results", {"level", "standing"}),
    ],
)
def test_each_style_makes_its_claims(style: str, kinds: set[str]) -> None:
    """So that the test above has something to look at."""
    compose = next(own.compose for own in HOUSE if own.name == style)
    found: set[str] = set()
    for name in STUDIES:
        findings = findings_of(name, 1)
        found |= {claim.kind for claim in told(compose(findings), findings)}
    assert found == kinds


def test_a_contradiction_would_be_found() -> None:
    findings = findings_of("printed curves", 1)
    document = next(own for own in HOUSE if own.name == "whitepaper").compose(findings)
    claim = next(iter(told(document, findings)))
    wrong = claim.sentence.replace(claim.figures[-1], "4711.17")
    missing = [n for n in numbers(wrong, names(findings)) if n not in printed(document)]
    assert missing == ["4711.17"]


def test_nothing_is_claimed_of_nothing() -> None:
    assert claims(findings_of("not begun", 1)) == []
    assert claims(findings_of("printed without values", 1)) == []


def test_what_was_not_repeated_is_said_once_above_all_sentences() -> None:
    """Thirty times the same words in brackets are read by nobody."""
    findings = findings_of("printed curves", 1)
    found = claims(findings, "lead", "ahead", "average", "first")
    assert found
    assert not [claim.sentence for claim in found if "no CI" in claim.sentence]
    assert [own.text for own in warnings(findings) if "Values were not repeated" in own.text]


def test_a_single_value_among_others_is_said_to_be_one() -> None:
    findings = findings_of("printed means", 1)
    single = [claim for claim in claims(findings, "lead") if " … " not in claim.sentence]
    assert single
    assert all("(single published values, no CI)" in claim.sentence for claim in single)
    assert not [own.text for own in warnings(findings) if "Values were not repeated" in own.text]


def test_a_difference_is_claimed_by_verdict_only() -> None:
    """Where values were repeated, an undecided pair is never called better."""
    findings = findings_of("three file systems", 1)
    for workload in findings.workloads:
        index = workload.index
        for pair in index.comparisons:
            if findings.baseline not in (pair.system, pair.against):
                continue
            other = pair.system if pair.against == findings.baseline else pair.against
            own = [
                claim.sentence
                for claim in claims(findings, "lead")
                if claim.workload == workload.name and f"{other} " in claim.sentence
            ]
            assert own
            decided = any(word in own[-1] for word in ("delivered", "did", "was"))
            assert decided == (pair.verdict in ("faster", "slower")), own[-1]
