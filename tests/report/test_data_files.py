"""CSV and JSON: what programs read."""

import csv
import json
from io import StringIO
from pathlib import Path

import jsonschema
import pytest

from support.collections import collection
from support.documents import everything
from support.specimen import findings as specimen
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.analysis.schema import findings_schema
from tiltyard.analysis.values import value_table
from tiltyard.app.report import findings_of
from tiltyard.collected.model import Reading
from tiltyard.delimited import delimited, undefused
from tiltyard.report.formats import csv as csv_format
from tiltyard.report.formats import json as json_format

PUBLISHED = Path(__file__).resolve().parents[2] / "published"


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(StringIO(data.decode(), newline="")))


def test_csv_is_as_the_standard_has_it() -> None:
    data = delimited(("a", "b,c"), [('say "x"\r\ny', 0.1), (None, 1e-9), ("=1+1", 3)])
    assert data == b'a,"b,c"\r\n"say ""x""\r\ny",0.1\r\n,1e-09\r\n\'=1+1,3\r\n'


FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1|x", "-O3", "\t=1", "'=1", "''-x"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_spreadsheet_would_compute_is_text_and_comes_back(text: str) -> None:
    ((written,), (_, value)) = read(delimited((text,), [(text, -1.5)]))
    assert written.startswith("'")
    assert value == "-1.5"
    assert undefused(written) == text


@pytest.mark.parametrize("text", ["-1.5", "+3e-9", "-", "ext4", "", "'quoted'", "1-2", "-.5"])
def test_numbers_and_other_texts_are_written_as_they_are(text: str) -> None:
    assert read(delimited(("a",), [(text,)]))[1:] == ([[text]] if text else [[""]])
    assert undefused(text) == text


def test_what_a_terminal_obeys_is_shown_in_csv() -> None:
    assert delimited(("a",), [("\x1b[31mred",)]) == b"a\r\n\\x1b[31mred\r\n"


def test_tables_have_all_digits_and_empty_fields_for_what_is_missing() -> None:
    files = csv_format.render(everything(), specimen(blocks=2))
    assert read(files["tables/throughput-systems.csv"]) == [
        [
            "System",
            "Out-of-box: write, MB/s",
            "Out-of-box: write, MB/s (beneath)",
            "Out-of-box: read, MB/s",
            "verdict",
        ],
        ["ext4", "14.1234", "0.21", "30.0", "baseline"],
        ["xfs", "18.42", "", "", "faster"],
        ["average", "16.27", "", "30.0", ""],
    ]
    assert [row[0] for row in read(files["tables.csv"])[1:]] == [
        path for path in files if path.startswith("tables/")
    ]


def test_values_come_back_to_the_last_bit() -> None:
    findings = specimen(blocks=2)
    table = value_table(findings)
    heads, *rows = read(csv_format.render(everything(), findings)["values.csv"])
    assert tuple(heads) == table.heads
    place = heads.index("value")
    assert [float(row[place]) for row in rows] == [value.value for value in table.values]


@pytest.fixture(scope="module")
def collected() -> Findings:
    readings = (
        Reading(metric="throughput", system="ext4", mean=5.0, se=0.5, n=3),
        Reading(metric="throughput", system="xfs", mean=6.0, sd=0.5, n=3),
    )
    return analyse_collection(collection(readings))


def test_findings_of_every_kind_of_study_keep_to_the_schema(
    findings: Findings, collected: Findings
) -> None:
    validator = jsonschema.Draft202012Validator(findings_schema())
    validator.check_schema(findings_schema())
    printed = findings_of(PUBLISHED / "netperf-rhel6")
    assert printed.audit
    studies = (
        findings,
        printed,
        collected,
        specimen(workloads=("iozone", "postmark", "tcp_rr"), blocks=2),
        specimen(workloads=("tcp_rr",), systems=("one", "two"), blocks=7),
    )
    for study in studies:
        data = json_format.render(everything(), study)["report.json"]
        assert [error.message for error in validator.iter_errors(json.loads(data))] == []


def test_the_schema_refuses_what_is_not_findings(collected: Findings) -> None:
    validator = jsonschema.Draft202012Validator(findings_schema())
    data = collected.model_dump(mode="json")
    assert not validator.is_valid({**data, "answer": 3})
    assert not validator.is_valid({**data, "surplus": 3})
    assert not validator.is_valid({key: value for key, value in data.items() if key != "answer"})


def test_the_report_names_its_schema_and_is_the_findings(collected: Findings) -> None:
    files = json_format.render(everything(), collected)
    data = json.loads(files["report.json"])
    assert json.loads(files[data.pop("$schema")]) == findings_schema()
    assert Findings.model_validate(data) == collected


def test_the_document_says_of_each_part_what_it_is() -> None:
    document = json.loads(json_format.render(everything(), specimen(blocks=2))["document.json"])
    section = document["sections"][0]
    assert [block["is"] for block in document["front"]] == ["paragraph", "facts", "figure"]
    assert section["blocks"][0]["rows"][0][1]["value"] == 14.1234
    assert document["front"][2]["wide"]["mark"] == "bar"
