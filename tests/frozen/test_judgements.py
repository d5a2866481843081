"""What each door says of the same values is frozen: a change of a number is a diff to be read.

A *door* is a way into the judging: ``report`` of a run, of several sessions, of printed studies and
of collections; ``import`` of other tools' files; ``compare`` of studies, and several pooled;
``combine``; ``gate``; weights and costs of an editor. For each there are scenes with something
planted (nothing, little, much, a drift, trials that follow each other, failures on one side, zeros,
grids, factors, percentiles, covariates …), made from fixed seeds or read from files under
``published`` and ``tests``; nothing is measured. They go through what the command line calls, from
a folder to findings, and ``judgement.py`` alone knows the shapes of these. So while the analysis is
rebuilt the files under ``data`` stay as they are. Where something is meant to change,

    TILTYARD_UPDATE_GOLDEN=1 pytest tests/frozen

writes them anew: a row a line, numbers to nine digits, so that a reviewer reads in the diff which
verdict, interval or sentence has become another one. ``alike.json`` has one table of values through
all doors, and so shows where they differ.
"""

import copy
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from frozen import alike, elsewhere, held, several
from frozen.files import DATA, Scenes, differences, read, rounded, written
from frozen.judgement import COLUMNS, Stated, stated_of, stated_of_decision
from frozen.planted import PLANTED
from support.laid import laid
from tiltyard.analysis.decision import decision
from tiltyard.app.report import findings_of

UPDATE = os.environ.get("TILTYARD_UPDATE_GOLDEN") == "1"
RECORDED = Path(__file__).parents[1] / "run/fixtures/recorded"
"""Runs that were carried out by an earlier version."""
SHOWN = 10
"""As many differences are named; of more their number."""


def runs(root: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard report STUDY``."""
    folders = {name: RECORDED / name for name in ("finished", "unfinished")}
    for place, (name, made) in enumerate(PLANTED.items()):
        folders[name] = laid(root / f"{place}", *made())
    for name, folder in folders.items():
        found = findings_of(folder)
        yield name, {**stated_of(found), **stated_of_decision("report", decision(found))}


DOORS: dict[str, Callable[[Path], Iterator[tuple[str, Stated]]]] = {
    "runs": runs,
    "sessions": several.sessions,
    "studies": several.studies,
    "combined": several.together,
    "gates": held.gates,
    "weights": held.weights,
    "printed": elsewhere.printed,
    "collections": elsewhere.made_up,
    "cases": elsewhere.cases,
    "genuine": elsewhere.genuine,
    "alike": alike.doors,
}


def frozen(door: str) -> Scenes:
    return read((DATA / f"{door}.json").read_text())


@pytest.mark.parametrize("door", DOORS)
def test_a_door_says_what_it_said(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # None of these folders outlives the test.
    found = dict(DOORS[door](tmp_path))
    if UPDATE:
        DATA.mkdir(exist_ok=True)
        (DATA / f"{door}.json").write_text(written(found))
    changed = list(differences(frozen(door), rounded(found)))
    more = f"\n… and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    assert not changed, "\n".join(islice(changed, SHOWN)) + more


def test_every_file_is_of_a_door() -> None:
    assert {path.stem for path in DATA.iterdir()} == {*DOORS}


def test_every_column_is_in_use() -> None:
    """Otherwise nothing would hold it."""
    longest: dict[str, int] = {}
    for door in DOORS:
        for stated in frozen(door).values():
            for section, rows in stated.items():
                longest[section] = max(longest.get(section, 0), *map(len, rows.values()))
    assert longest == {section: len(columns) for section, columns in COLUMNS.items()}


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("lines", 0), "slower", "verdict: was faster, is slower"),
        (("lines", 3), 1.0023, "low: was 1.00248039, is 1.0023"),
        (("lines", 6), None, "p: was 0.0"),
        (("lines", -1), "xfs is faster.", "sentence: was xfs "),
        (("ranks", 0), 2, "rank: was 1, is 2"),
        (("texts", 0), "No verdict.", "text: was xfs does "),
        (("values", 8), [["p50", 1.0]], "percentiles: was None, is [['p50', 1.0]]"),
    ],
)
def test_a_change_is_told_by_its_name(place: tuple[str, int], value: Any, told: str) -> None:
    section, column = place
    before = {"small": frozen("runs")["small"]}
    now = copy.deepcopy(before)
    name = next(name for name in now["small"][section] if "ext4" not in name or "/" in name)
    row = now["small"][section][name]
    row += [None] * (column + 1 - len(row))
    row[column] = value
    (found,) = differences(before, now)
    assert found.startswith(f"small: {section}: {name}: {told}")


def test_what_is_new_and_what_is_gone_is_told() -> None:
    before = {"a": {"lines": {"x / y": ["faster", 7]}, "texts": {"answer": ["Yes."]}}, "b": {}}
    now = {"a": {"lines": {"z / y": ["faster", 7]}, "texts": {"answer": ["Yes."]}}, "c": {}}
    assert list(differences(before, now)) == [
        "a: lines: x / y: is gone",
        "a: lines: z / y: is new, ['faster', 7]",
        "b: is gone",
        "c: is new",
    ]


def test_the_last_digit_may_tip_over_and_the_one_before_it_may_not() -> None:
    def of(low: float | str) -> Scenes:
        return {"a": {"gains": {"x": ["faster", 1.1, low]}}}

    assert not list(differences(of(1.23456789), of(1.23456788)))
    assert list(differences(of(1.23456789), of(1.23456769)))
    assert list(differences(of(0.0), of(1e-9)))
    assert list(differences(of(1.0), rounded(of(float("inf")))))


def test_what_is_written_is_read_again() -> None:
    for door in DOORS:
        assert written(frozen(door)) == (DATA / f"{door}.json").read_text()
