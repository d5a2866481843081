"""Studies against studies in print: no verdict beside an interval that it does not rest on."""

from collections.abc import Callable

import pytest

from support.across import few_studies, pooled_studies, two_studies
from support.printed_verdicts import READERS, contradictions, read, terminal, text_in
from tiltyard.analysis.model import Findings
from tiltyard.report.document import Figure, Table
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style

MADE: dict[str, Callable[[], Findings]] = {
    "two": two_studies,
    "few": few_studies,
    "pooled": pooled_studies,
}


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
    assert bool(read(text, findings[name]).beside) == (name != "few")
    assert ("no verdict" in text) == (name == "few")


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
