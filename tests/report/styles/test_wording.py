"""Heads, units and sentences as an editor wants them."""

from itertools import takewhile
from pathlib import Path

import pytest

from support.told_findings import STUDIES, findings_of
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.statements.registry import claims
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.charts.grid import map_of
from tiltyard.report.document import Callout, Facts, Paragraph
from tiltyard.report.styles import STYLES, study
from tiltyard.report.styles.style import Style
from tiltyard_press.styles import article
from tiltyard_published.read import read_publication

PUBLISHED = Path(__file__).resolve().parents[3] / "published"


def test_a_unit_never_continues_the_name_of_a_system(findings: Findings) -> None:
    """``files/s`` is a rate, ``ext4/s`` is not."""
    names = {system.name for system in findings.systems}
    names |= {level for system in findings.systems for level in system.levels.values()}
    for style in STYLES:
        for table in style.compose(findings).tables():
            joined = {one.head for one in table.columns if one.unit.startswith("/")}
            assert not joined & names, (style.name, table.id)


def test_ranked_tables_have_short_heads(findings: Findings) -> None:
    """What was measured over which points is said once, in the title."""
    ranked = [one for one in study.compose(findings).tables() if one.id.endswith("-ranking")]
    assert bool(ranked) == any(workload.index.standings for workload in findings.workloads)
    for table in ranked:
        places = [column.head for column in table.columns if column.head != "rank"]
        heads = ("baseline × ratio", "geometric mean", "median", "value")
        assert places[1:3] in (["Verdict", head] for head in heads), table.id
        assert table.title.endswith(": ranking") or "-" in table.id


@pytest.mark.parametrize(
    ("percent", "told"), [(108.3, "110 %"), (65.2, "65 %"), (0.0123, "0.012 %")]
)
def test_a_large_difference_is_a_plain_number(percent: float, told: str) -> None:
    found = findings_of(next(iter(STUDIES)), 1)
    found = found.model_copy(update={"resolution_percent": percent, "calibration": None})
    rows = [row for one in study.compose(found).front if isinstance(one, Facts) for row in one.rows]
    assert ("smallest difference", told) in rows


def test_every_style_has_the_headline_and_above_it_only_warnings(findings: Findings) -> None:
    for style in STYLES:
        front = style.compose(findings).front
        leads = [one.text for one in front if isinstance(one, Paragraph) and one.role == "lead"]
        assert leads == [findings.answer]
        above = list(takewhile(lambda one: isinstance(one, Callout), front))
        told = [text for one in above for list_ in one.blocks for text in list_.items]
        assert told == [_in_full(one) for one in _gravest_first(findings)]


def _gravest_first(findings: Findings) -> list[Notice]:
    grave = ("problem", "warning", "note")
    return sorted(warnings(findings), key=lambda one: grave.index(one.severity))


def _in_full(notice: Notice) -> str:
    return " ".join(filter(None, (notice.text, notice.advice)))


def test_a_label_is_not_said_twice_and_not_counted() -> None:
    found = analyse_collection(read_publication(PUBLISHED / "linux-3.13").collection)
    told = [one.sentence for one in claims(found, "lead")]
    threads = [one for one in told if one.startswith("Threaded I/O Tester, Write, 32MB: ")]
    assert threads
    assert all(one.count("Write, 32MB") == 1 for one in threads)
    assert not [one for one in told if "Size per second" in one or "fewer rate" in one]
    assert any("EXT4 had 6.9 % lower rate than" in one for one in told)


def test_a_single_place_is_no_map(findings: Findings) -> None:
    for workload in findings.workloads:
        one = workload.model_copy(update={"cells": workload.cells[:1]})
        assert map_of(one) is None


@pytest.mark.parametrize("style", [article.STYLE], ids=lambda style: style.name)
def test_the_total_time_stands_beside_the_transactions(style: Style) -> None:
    found = [findings_of(name, 1) for name in STUDIES]
    timed = [
        one
        for one in found
        if any(c.label == "total time" for w in one.workloads for c in w.details)
    ]
    assert timed
    for findings in timed:
        heads = [[c.head for c in table.columns] for table in style.compose(findings).tables()]
        assert any("transactions" in own and "total time" in own for own in heads)
