"""Studies against studies in print: no verdict beside an interval that it does not rest on."""

import re
from collections.abc import Callable

import pytest

from support.across import (
    alone_studies,
    compared,
    few_studies,
    pooled_studies,
    study,
    two_studies,
)
from support.printed_verdicts import READERS, contradictions, read, terminal, text_in
from tiltyard.analysis.line import interval_text, without_verdict
from tiltyard.analysis.model import Findings
from tiltyard.report.document import Figure, Table
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style

MADE: dict[str, Callable[[], Findings]] = {
    "two": two_studies,
    "few": few_studies,
    "alone": alone_studies,
    "pooled": pooled_studies,
}

TOO_FEW = ("few", "alone")
"""Of these a verdict takes more."""


@pytest.fixture(scope="module")
def findings() -> dict[str, Findings]:
    return {name: make() for name, make in MADE.items()}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_nothing_printed_contradicts_the_findings(
    findings: dict[str, Findings], name: str, style: Style
) -> None:
    document = style.compose(findings[name])
    for format in set(READERS) - {"pdf", "html"}:
        text = text_in(format, document, findings[name])
        assert contradictions(text, findings[name]) == [], format


@pytest.mark.parametrize("name", MADE)
def test_nothing_in_a_terminal_contradicts_the_findings(
    findings: dict[str, Findings], name: str
) -> None:
    text = terminal(findings[name])
    assert contradictions(text, findings[name]) == []
    assert bool(read(text, findings[name]).beside) == (name not in TOO_FEW)
    assert ("no verdict" in text) == (name in TOO_FEW)


@pytest.mark.parametrize("name", TOO_FEW)
def test_without_a_verdict_there_is_one_word_one_interval_and_no_rank(
    findings: dict[str, Findings], name: str
) -> None:
    """In picture, ranking and table of studies."""
    document = STYLES[0].compose(findings[name])
    (pair,) = findings[name].workloads[0].index.comparisons
    assert pair.over is not None
    interval = interval_text(without_verdict(pair))
    picture = next(one for one in document.front if isinstance(one, Figure))
    assert f"({interval}), no verdict" in picture.alt
    assert "no verdict rests on it" in picture.caption
    ranked = next(one for one in document.tables() if one.id == "postmark-ranking"
                  or one.id == "postmark-on-ext4-ranking")  # fmt: skip
    assert "rank" not in {column.head for column in ranked.columns}
    (row,) = (own for own in ranked.rows if own[0].text == pair.system)
    assert [row[1].text, row[-1].text] == ["no verdict", interval]
    assert "no verdict rests on it" in ranked.caption
    for style in STYLES:
        text = text_in("markdown", style.compose(findings[name]), findings[name])
        # What signs mean, and folds that count what is open, say the word of no comparison.
        told = re.sub(r"▼ worse, = equivalent, \? undecided|hollow: undecided", "", text)
        assert "undecided" not in told, style.name


def test_metrics_over_studies_bear_the_title_of_their_workload() -> None:
    """Not the key of the study: people read its title everywhere else."""
    one, other = (study(name, systems=("ext4",), seed=n) for n, name in enumerate(("may", "june")))
    for own in (one, other):
        first = own.sessions[1]
        titled = tuple(w.model_copy(update={"title": "PostMark"}) for w in first.workloads)
        own.sessions[1] = first.model_copy(update={"workloads": titled})
    found = compared(one, other)
    assert [own.index.label for own in found.workloads] == ["PostMark transactions on ext4"]
    assert "in PostMark transactions on ext4" in found.answer


def test_the_page_has_a_forest_plot_and_every_study(findings: dict[str, Findings]) -> None:
    document = STYLES[0].compose(findings["pooled"])
    (section,) = (one for one in document.sections if one.id == "studies")
    assert [one.title for one in section.blocks if isinstance(one, Figure)] != []
    ranked = next(one for one in document.front if isinstance(one, Figure))
    assert "Dots: the studies" in ranked.caption
    assert ranked.subtitle.startswith("Ratio to ext4: estimate, interval, studies")
    table = next(
        one for one in section.blocks if isinstance(one, Table) and one.id == "over-studies"
    )
    assert [row[1].text for row in table.rows] == [
        *(f"host{n}" for n in range(1, 7)), "pooled", "another study"
    ]  # fmt: skip
    assert table.rows[6][6].verdict == "faster"
    html = text_in("html", document, findings["pooled"])
    assert contradictions(html, findings["pooled"]) == []


def test_what_was_measured_here_has_no_such_section() -> None:
    from support.pictured import measured

    assert "studies" not in {one.id for one in STYLES[0].compose(measured()).sections}
