"""What every picture shows, against a text that a person has read.

``TILTYARD_UPDATE_GOLDEN=1 pytest tests/charts`` writes the texts again; read the difference.
"""

import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from support.drawings import NAMES, drawings
from support.summaries import summary_of
from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import IN_BLOCK, WIDE_PX

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("TILTYARD_UPDATE_GOLDEN") == "1"
STUDIES = ("measured", "grids", "messages", "tests", "pooled")


def pictures_of(findings: Findings) -> Iterator[str]:
    """Each picture: its name, the sentence that stands for it, and what it shows."""
    for drawing in drawings(findings):
        yield from ("", f"# {drawing.name}", drawing.alt())
        yield from summary_of(specification(drawing.draw(WIDE_PX)))


def specification(spec: Any) -> dict[str, Any]:
    assert isinstance(spec, dict)
    return spec


@pytest.mark.parametrize("study", STUDIES)
def test_every_picture_shows_what_it_showed(studies: dict[str, Findings], study: str) -> None:
    shown = "\n".join(pictures_of(studies[study])).lstrip() + "\n"
    path = GOLDEN / f"{study}.txt"
    if UPDATE:
        path.write_text(shown)
    assert shown.splitlines() == path.read_text().splitlines()


def test_the_texts_are_short_and_have_every_kind_of_picture() -> None:
    texts = [path.read_text() for path in GOLDEN.iterdir()]
    heads = [line for text in texts for line in text.splitlines() if line.startswith("# ")]
    assert {line.split("-")[-1].removeprefix("# ") for line in heads} == set(NAMES)
    assert sum(len(text.splitlines()) for text in texts) <= 2000


def views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A specification and all its parts."""
    yield spec
    for name in ("layer", "concat", "hconcat", "vconcat"):
        for part in spec.get(name, ()):
            yield from views(part)
    if "spec" in spec:
        yield from views(spec["spec"])


def drop_layer(spec: dict[str, Any]) -> None:
    next(view for view in views(spec) if view.get("layer"))["layer"].pop()


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The first data of which there is more than one row."""
    tables = (view.get("data", {}).get("values", []) for view in views(spec))
    return next(rows for rows in tables if len(rows) > 1)


def lose_mark(spec: dict[str, Any]) -> None:
    rows_of(spec).pop()


def change_value(spec: dict[str, Any]) -> None:
    """The numbers and the text of one mark in the middle."""
    rows = rows_of(spec)
    row = rows[len(rows) // 2]
    row |= {name: 1.001 * value for name, value in row.items() if isinstance(value, float)}
    if row.get("text"):
        row["text"] += "!"


def move_end(spec: dict[str, Any]) -> None:
    """The scale of a position ends elsewhere."""
    for view in views(spec):
        for channel in ("x", "y"):
            scale = (view.get("encoding", {}).get(channel) or {}).get("scale") or {}
            if len(scale.get("domain", ())) > 1:
                scale["domain"] = [*scale["domain"][:-1], scale["domain"][0]]
                return
    pytest.skip("scales that follow from the data")


def rename(spec: dict[str, Any]) -> None:
    """A title, or where there is none the words of an axis, become others."""
    for view in views(spec):
        if view.get("title", {}).get("text"):
            view["title"]["text"] += "!"
            return
        for channel in view.get("encoding", {}).values():
            # What only a screen reader and the page's script are told is in no summary.
            if isinstance(channel, dict) and channel.get("title") not in (None, IN_BLOCK):
                channel["title"] += "!"
                return
    pytest.skip("a picture without titles")


@pytest.mark.parametrize("change", [drop_layer, lose_mark, change_value, move_end, rename])
@pytest.mark.parametrize("name", NAMES)
def test_a_change_shows(studies: dict[str, Findings], name: str, change: Any) -> None:
    drawing = next(
        drawing
        for findings in studies.values()
        for drawing in drawings(findings)
        if drawing.chart == name
    )
    spec = specification(drawing.draw(WIDE_PX))
    before = list(summary_of(spec))
    changed = deepcopy(spec)
    change(changed)
    assert list(summary_of(changed)) != before
