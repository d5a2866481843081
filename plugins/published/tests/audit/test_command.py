"""``tiltyard audit``, as it is called."""

import json
from pathlib import Path

import pytest

from support.publications import PUBLISHED
from tiltyard.app.report import concluded, write_report
from tiltyard.cli import add_verbs, app
from tiltyard.cli.console import out
from tiltyard.errors import UsageError

add_verbs("audit")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    out.cache_clear()
    assert app(["audit", *words], exit_on_error=False, result_action="return_value") is None
    return capsys.readouterr().out


def test_what_fails_is_listed_and_the_rest_counted(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, str(PUBLISHED / "iozone-rhel6"))
    assert "4 contradicted, 10 rounding, 9 open, 74 follow." in text
    assert "states 38.4 %; found: 33.4 %" in text
    assert "Follows to the last digit" not in text


def test_all_of_it_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, str(PUBLISHED / "postmark-systems"), "--all")
    assert "Follows to the last digit (6)" in text


def test_as_json_for_several_studies(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["postmark-systems", "iozone-magazine"]
    studies = json.loads(run(capsys, *(str(PUBLISHED / name) for name in names), "--json"))
    assert [Path(one["study"]).name for one in studies] == names
    outcomes = {one["outcome"] for study in studies for one in study["audit"]}
    assert outcomes == {"follows", "rounding", "contradicted", "open"}


def test_a_folder_that_is_no_printed_study(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/study.toml").touch()
    (tmp_path / "imported").mkdir()
    (tmp_path / "imported/collection.json").touch()
    for folder, message in (
        (tmp_path, r"there is no published\.toml in it$"),
        (tmp_path / "none", "no such folder"),
        (tmp_path / "run/study.toml", "this is not a folder"),
        (tmp_path / "run", "this study states nothing that could be audited"),
        (tmp_path / "imported", "this study states nothing that could be audited"),
        (PUBLISHED, r"there is no published\.toml in it, but in iozone-magazine, iozone-rhel6, "),
    ):
        with pytest.raises(UsageError, match=message):
            app(["audit", str(folder)], exit_on_error=False, result_action="return_value")


def test_the_audit_is_in_the_findings_of_a_report(tmp_path: Path) -> None:
    found = concluded(PUBLISHED / "postmark-systems", "study", tmp_path / "report")
    outcomes = [one.outcome for one in found.findings.audit]
    assert outcomes.count("contradicted") == 1
    write_report(found)
    stored = json.loads((tmp_path / "report/findings.json").read_text())
    assert len(stored["audit"]) == len(outcomes)
