"""CPU time in reports: a ranked table and sentences of its own, in each format."""

import json

import pytest

from support.cpu_times import timed
from tiltyard.report.formats import FORMATS
from tiltyard.report.styles import STYLES

STUDY = next(style for style in STYLES if style.name == "study")


def rendered(name: str) -> dict[str, str]:
    """The files of a format, of two programs that CPU time tells apart, by 10 %."""
    findings = timed(1.0, 0.9)
    form = next(form for form in FORMATS if form.name == name)
    files = form.render(STUDY.compose(findings), findings)
    return {path: content.decode(errors="replace") for path, content in files.items()}


@pytest.mark.parametrize(("name", "file"), [("html", "index.html"), ("markdown", "report.md")])
def test_it_has_a_table_and_a_sentence(name: str, file: str) -> None:
    text = rendered(name)[file]
    assert "program CPU time: ranking" in text
    assert "less CPU time than a in program CPU time" in text


def test_its_verdict_is_data_too() -> None:
    found = json.loads(rendered("json")["report.json"])["workloads"][0]["cpu_time"]
    assert found["comparisons"][0]["verdict"] == "faster"
    assert [one["system"] for one in found["standings"]] == ["b", "a"]
    tables = rendered("csv")
    (path,) = (path for path in tables if path.endswith("-cpu-time.csv"))
    assert "b,faster," in tables[path]
    assert "cpu_time,s,lower," in tables["values.csv"]


def test_there_is_none_where_it_is_not_known() -> None:
    document = STUDY.compose(timed(1.0, None))
    assert not [table.title for table in document.tables() if "CPU time: ranking" in table.title]
