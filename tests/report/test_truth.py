"""What is printed beside a verdict is the interval it rests on: read back from every format.

Each contradiction that is planted in a document, or in what a terminal shows, is found again in
what was printed of it: a verdict, an interval, a sentence, a headline, a percentage, the title or
the alternative text of a picture, a value of a workbook.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.network_studies import network_study
from support.printed_studies import SORTS
from support.printed_verdicts import (
    INTERVAL,
    READERS,
    contradictions,
    known_intervals,
    read,
    terminal,
    text_in,
    values_in,
)
from support.shapes import Shape, card
from support.synthetic import factorial_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import interval_text
from tiltyard.analysis.model import Findings, Summary
from tiltyard.analysis.values import cells_of
from tiltyard.report.document import Document, Entry, Facts, Figure, Fold, Paragraph, Sentences
from tiltyard.report.edition.apply import edited
from tiltyard.report.edition.file import Edition
from tiltyard.report.formats import FORMATS
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard.report.title_case import with_capitals
from tiltyard_press.formats import xlsx

FACTORS = {"filesystem": ("ext4", "xfs"), "kernel": ("3.12", "3.13")}
SPEEDS = {("xfs",): 1.2, ("xfs", "3.13"): 1.1}
TOLERANCE = 1e-9
SHAPES = {
    "rates": Shape((card("rate", "operations", "1/s"),), {"rate": 9_000.0}),
    "suite": Shape(
        metrics=(card("write", "write", "B/s"), card("time", "total time", "s", "lower")),
        typical={"write": 1e9, "time": 3.0},
        grid=("loop",),
        points=({"loop": 1}, {"loop": 2}),
    ),
}


@cache
def ours() -> Findings:
    """Four systems and two workloads, of which some comparisons are decided and others are not."""
    return analyse(
        *factorial_study(
            FACTORS, SPEEDS, blocks=15, noise=0.05, workloads=tuple(SHAPES), shapes=SHAPES
        )
    )


@cache
def printed() -> Findings:
    """Means with their errors, as a result page prints them."""
    return analyse_collection(SORTS["results"](1))


@cache
def networked() -> Findings:
    """Curves over sizes, latencies and percentiles, in every workload of a network."""
    return analyse(*network_study(blocks=8, effects={"optimized": 1.2}))


@cache
def single() -> Findings:
    """Means of which nothing was repeated but their run time."""
    return analyse_collection(SORTS["means"](1))


STUDIES: dict[str, Callable[[], Findings]] = {"ours": ours, "printed": printed}
OTHERS: dict[str, Callable[[], Findings]] = {"networked": networked, "single": single}
"""Held against their page only."""


@cache
def composed(style: Style, name: str) -> Document:
    return with_capitals(style.compose(STUDIES[name]()), STUDIES[name]())


def with_a_dot_for_each_picture(part: Any) -> Any:
    """The same words; marks of figures take long to draw and have a test of their own."""
    if isinstance(part, Figure):
        return replace(part, wide=DOT, narrow=None)
    if isinstance(part, tuple):
        return tuple(with_a_dot_for_each_picture(one) for one in part)
    if is_dataclass(part) and not isinstance(part, type) and hasattr(part, "blocks"):
        names = {"blocks", "sections"} & {one.name for one in fields(part)}
        inside = {name: with_a_dot_for_each_picture(getattr(part, name)) for name in names}
        return replace(part, **inside)
    return part


DOT = {"data": {"values": [{}]}, "mark": "point"}


def plain(document: Document) -> Document:
    return replace(
        document,
        front=with_a_dot_for_each_picture(document.front),
        sections=with_a_dot_for_each_picture(document.sections),
    )


PAPERS = {("ours", "study"), ("printed", "results")}
"""Setting a paper takes a second, and it prints the same document as all other formats."""
SLIDES = "pptx"
"""They have no tables: the pictures and what is said of them stand for those."""
NO_PAPER = ("printed", "pdf")
PRINTED = [
    (name, style, format)
    for name in STUDIES
    for style in STYLES
    for format in READERS
    if format != "pdf" or (name, style.name) in PAPERS
]


@pytest.mark.parametrize(("name", "style", "format"), PRINTED)
def test_nothing_printed_contradicts_the_findings(name: str, style: Style, format: str) -> None:
    findings = STUDIES[name]()
    text = text_in(format, plain(composed(style, name)), findings)
    assert contradictions(text, findings) == []
    assert read(text, findings).intervals or format == SLIDES


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
@pytest.mark.parametrize("name", OTHERS)
def test_nothing_on_a_page_of_another_sort_contradicts_the_findings(
    name: str, style: Style
) -> None:
    findings = OTHERS[name]()
    document = with_capitals(style.compose(findings), findings)
    assert contradictions(text_in("html", plain(document), findings), findings) == []


@pytest.mark.parametrize("name", STUDIES)
def test_nothing_in_a_terminal_contradicts_the_findings(name: str) -> None:
    text = terminal(STUDIES[name]())
    assert contradictions(text, STUDIES[name]()) == []
    assert read(text, STUDIES[name]()).beside


@pytest.mark.parametrize(
    ("name", "format"),
    [
        (name, format)
        for name in STUDIES
        for format in READERS
        if format != SLIDES and (name, format) != NO_PAPER
    ],
)
def test_each_format_prints_verdicts_beside_their_intervals(name: str, format: str) -> None:
    """So that the tests above have something to look at: each line of the rankings is read."""
    findings = STUDIES[name]()
    text = text_in(format, plain(composed(STYLES[0], name)), findings)
    found = read(text, findings).ranked
    for workload in findings.workloads:
        for standing in workload.index.standings:
            pair = standing.comparison
            assert pair is None or (interval_text(pair), pair.verdict) in found


PLANTED_IN = Entry | Sentences | Paragraph | Facts | Figure


def planted(part: Any, change: Callable[[Any], Any]) -> Any:
    """A document in which one entry, sentence or paragraph is another one: the first that fits."""
    done = False

    def walk(one: Any) -> Any:
        nonlocal done
        if done:
            return one
        if isinstance(one, PLANTED_IN) and (new := change(one)) is not None:
            done = True
            return new
        if isinstance(one, tuple):
            return tuple(walk(own) for own in one)
        if is_dataclass(one) and not isinstance(one, type):
            return replace(one, **{f.name: walk(getattr(one, f.name)) for f in fields(one)})
        return one

    found = walk(part)
    assert done, "nothing to plant it in"
    return found


def other_verdict(one: Any) -> Any:
    """Of a ranked table: the word and the sign of the opposite."""
    if isinstance(one, Entry) and one.text in OPPOSITE and one.verdict:
        word = OPPOSITE[one.text]
        return replace(one, text=word, verdict=word)
    return None


OPPOSITE: dict[str, Any] = {"faster": "slower", "slower": "faster"}


def other_interval(one: Any) -> Any:
    """An interval that is narrower by a digit than any that was computed."""
    if isinstance(one, Entry) and " … " in one.text:
        return replace(one, text="1.0317 … 1.0319")
    return None


def other_sentence(one: Any) -> Any:
    """A sentence on a difference told the other way round."""
    if isinstance(one, Sentences):
        items = tuple(told.replace("faster", "slower", 1) for told in one.items)
        return None if items == one.items else Sentences(items)
    return None


def other_headline(one: Any) -> Any:
    """Other ends of an interval in the first sentence."""
    if isinstance(one, Paragraph) and " CI " in one.text:
        return replace(one, text=one.text.replace(" CI ", " CI 9", 1))
    return None


def other_share(one: Any) -> Any:
    """A percentage that stands by itself, such as the smallest difference that can be shown."""
    if isinstance(one, Facts) and any(value.endswith(" %") for _, value in one.rows):
        rows = ((name, "7.31 %" if value.endswith(" %") else value) for name, value in one.rows)
        return replace(one, rows=tuple(rows))
    return None


def other_difference(one: Any) -> Any:
    """A difference without an interval, in a sentence that is none of the findings."""
    if isinstance(one, Sentences):
        return Sentences((*one.items, "xfs had 3.1 % more operations per second than ext4."))
    return None


def other_title(one: Any) -> Any:
    """Of a picture whose title is a finding: the opposite."""
    if isinstance(one, Figure) and "faster than" in one.title:
        return replace(one, title=one.title.replace("faster than", "slower than", 1))
    return None


def other_count(one: Any) -> Any:
    """One test more of which a title says that it was decided."""
    found = isinstance(one, Figure) and re.search(r"faster than .* in (\d+) of", one.title)
    if not found:
        return None
    title = f"{one.title[: found.start(1)]}{int(found[1]) - 1}{one.title[found.end(1) :]}"
    return replace(one, title=title)


def other_alternative(one: Any) -> Any:
    """Of a picture whose alternative text has verdicts: another one, for who cannot see it."""
    if isinstance(one, Figure) and (found := re.search(r"\), (faster|slower)", one.alt)):
        return replace(one, alt=f"{one.alt[: found.start(1)]}undecided{one.alt[found.end(1) :]}")
    return None


def other_value(one: Any) -> Any:
    """Of a picture whose alternative text has values: a digit of the first one."""
    found = isinstance(one, Figure) and re.search(r": ext4 3\.12 ([\d.,]*\d) ", one.alt)
    if not found:
        return None
    digit = "7" if found[1][0] != "7" else "3"
    return replace(one, alt=f"{one.alt[: found.start(1)]}{digit}{one.alt[found.start(1) + 1 :]}")


Plant = Callable[[Any], Any]
OF_TABLES: tuple[Plant, ...] = (other_verdict, other_interval)
OF_TEXTS: tuple[Plant, ...] = (other_sentence, other_headline, other_share, other_difference)
OF_PICTURES: tuple[Plant, ...] = (other_title, other_count, other_alternative, other_value)
PLANTS: dict[str, tuple[Plant, ...]] = {
    **dict.fromkeys(READERS, (*OF_TABLES, *OF_TEXTS, *OF_PICTURES)),
    **dict.fromkeys(("csv", "latex"), OF_TABLES),
    SLIDES: (other_headline, *OF_PICTURES),
}
"""What each format prints: tables only, or no table."""
IN_ANOTHER_STYLE = {other_count: "results", other_value: "results"}


@pytest.mark.parametrize("format", READERS)
def test_a_planted_contradiction_is_found_in_each_format(format: str) -> None:
    findings = ours()
    styles = {style.name: style for style in STYLES}
    for change in PLANTS[format]:
        style = styles[IN_ANOTHER_STYLE.get(change, STYLES[0].name)]
        document = plain(composed(style, "ours"))
        text = text_in(format, planted(document, change), findings)
        assert contradictions(text, findings), change.__name__


@pytest.mark.parametrize("name", STUDIES)
def test_the_values_of_a_workbook_are_those_of_the_findings(name: str) -> None:
    findings = STUDIES[name]()
    rows = values_of_workbook(findings)
    assert rows == expected_values(findings)
    changed = findings.workloads[0].cells[0].summaries[0]
    wrong = changed.model_copy(
        update={"values": tuple(2 * one for one in changed.values), "mean": 2 * changed.mean}
    )
    assert values_of_workbook(with_summary(findings, wrong)) != expected_values(findings)


def values_of_workbook(findings: Findings) -> Counter[tuple[Any, ...]]:
    """Workload, metric, system, block and value of each row of the sheet."""
    made = xlsx.render(plain(composed(STYLES[0], "printed")), findings)
    heads, *rows = values_in(made["report.xlsx"])
    places = [heads.index(name) for name in ("workload", "metric", "system", "block", "value")]
    return Counter(tuple(row[place] for place in places) for row in rows)


def expected_values(findings: Findings) -> Counter[tuple[Any, ...]]:
    """The same of the findings: each value, or the mean where nothing else was kept."""
    found: Counter[tuple[Any, ...]] = Counter()
    for workload in findings.workloads:
        for cell in cells_of(workload):
            for own in cell.summaries:
                blocks = own.blocks or (None,) * len(own.values)
                pairs = [*zip(blocks, own.values, strict=True)] or [(None, own.mean)]
                for block, value in pairs:
                    found[workload.name, cell.metric, own.system, block, value] += 1
    return found


def with_summary(findings: Findings, summary: Summary) -> Findings:
    """The findings with another first summary of their first cell."""
    first, *workloads = findings.workloads
    cell, *cells = first.cells
    own = cell.model_copy(update={"summaries": (summary, *cell.summaries[1:])})
    told = first.model_copy(update={"cells": (own, *cells)})
    return findings.model_copy(update={"workloads": (told, *workloads)})


def test_a_planted_contradiction_is_found_in_a_terminal() -> None:
    findings = ours()
    workload = findings.workloads[0]
    standings = list(workload.index.standings)
    place = next(
        place
        for place, own in enumerate(standings)
        if own.comparison and own.comparison.verdict in OPPOSITE
    )
    pair = standings[place].comparison
    assert pair
    wrong = pair.model_copy(update={"verdict": OPPOSITE[pair.verdict]})
    standings[place] = standings[place].model_copy(update={"comparison": wrong})
    index = workload.index.model_copy(update={"standings": tuple(standings)})
    told = workload.model_copy(update={"index": index})
    shown = findings.model_copy(update={"workloads": (told, *findings.workloads[1:])})
    assert contradictions(terminal(shown), findings)


def drawn(part: Any) -> Iterator[tuple[float, float]]:
    """The ends of every interval of a ratio that a picture draws."""
    if isinstance(part, dict):
        if {"ratio", "low", "high"} <= part.keys() and part["low"] is not None:
            yield part["low"], part["high"]
        for one in part.values():
            yield from drawn(one)
    elif isinstance(part, list):
        for one in part:
            yield from drawn(one)


def test_pictures_draw_the_intervals_that_verdicts_rest_on() -> None:
    findings = ours()
    known = [
        (pair.low, pair.high)
        for workload in findings.workloads
        for of in workload.compared
        for pair in of.comparisons
    ]
    known += [(e.low, e.high) for workload in findings.workloads for e in workload.effects]
    known += [(1 / high, 1 / low) for low, high in known if low and high]
    found = [
        ends for figure in composed(STYLES[0], "ours").figures() for ends in drawn(figure.wide)
    ]
    assert found
    for low, high in found:
        assert any(
            own and abs(own - low) < TOLERANCE and abs(other - high) < TOLERANCE
            for own, other in known
        ), (low, high)


@pytest.mark.parametrize("style", STYLES, ids=[style.name for style in STYLES])
def test_an_editors_wrong_number_and_direction_are_found(style: Style, tmp_path: Path) -> None:
    """In every style; the colophon says so in every format that has text."""
    findings, document = ours(), plain(composed(style, "ours"))
    workload = findings.workloads[0]
    pair = next(own for own in workload.index.comparisons if own.verdict in OPPOSITE)
    right = f"In {workload.name} {pair.system} is {pair.verdict} than {pair.against}."
    wrong = right.replace(pair.verdict, OPPOSITE[pair.verdict])
    path = tmp_path / "report.toml"
    for text, found in ((right, 0), (f"{wrong} It has 83,114,207.", 2)):
        path.write_text(f'[[text]]\nafter = "front"\ntext = "{text}"\n')
        made = edited(document, findings, Edition.read(path), lambda: [document])
        assert len(made.remarks) == found, made.remarks
    assert [one.line for one in made.remarks] == [3, 3]
    for format in ("html", "markdown", "xlsx", "json"):
        told = text_in(format, made.document, findings)
        assert "83,114,207 stands in no table" in told, format
        assert "is not what the verdict says" in told, format


def test_the_reader_knows_intervals_of_both_sorts() -> None:
    known = known_intervals(ours())
    assert any(text.startswith(("+", "−")) for text in known)
    assert any(text[0].isdigit() for text in known)
    assert INTERVAL


def test_a_page_without_folds_is_the_whole_page() -> None:
    """Folded parts are read as well."""
    folds = [one for one in composed(STYLES[0], "ours").blocks() if isinstance(one, Fold)]
    assert folds


def test_every_format_is_read_back() -> None:
    assert READERS.keys() == {one.name for one in FORMATS}
