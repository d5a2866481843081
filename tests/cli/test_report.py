"""``tiltyard report``: which files it writes, and that it writes none when it refuses."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.collections import collection
from tiltyard.analysis.model import Findings
from tiltyard.app import report as use_case
from tiltyard.cli import main
from tiltyard.cli.console import out
from tiltyard.collected.model import Reading
from tiltyard.collected.store import read_collection, write_collection
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.report.formats import FORMATS
from tiltyard.report.styles import STYLES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two systems, three values each."""
    root = tmp_path / "mail"
    own = [
        Reading(metric="throughput", system=name, values=values)
        for name, values in (("ext4", (1e8, 1.01e8, 0.99e8)), ("xfs", (2e8, 2.02e8, 1.98e8)))
    ]
    write_collection(StudyFolder(root), collection(own))
    return root


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from tiltyard.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_forms_are_written_and_named(folder: Path) -> None:
    done = report(folder, "--format", "all", "--style", "whitepaper")
    assert done.returncode == 0, done.stderr
    for form in FORMATS:
        path = folder / "report" / form.file
        assert path.stat().st_size > 0
        assert form.file in done.stdout
    assert "xfs" in done.stdout


def test_pages_of_a_longer_report_that_was_here_go(folder: Path) -> None:
    (folder / "report").mkdir()
    for name in ("index-2.html", "index-13.html", "index-of-mine.html", "index-2.html.bak"):
        (folder / "report" / name).write_text("")
    assert report(folder).returncode == 0
    left = {path.name for path in (folder / "report").glob("index*")}
    assert left == {"index.html", "index-of-mine.html", "index-2.html.bak"}


@pytest.mark.parametrize(
    ("option", "value", "right"),
    [
        ("--format", "pfd", [form.name for form in FORMATS]),
        ("--format", "", [form.name for form in FORMATS]),
        ("--style", "white", [style.name for style in STYLES]),
        ("--style", "", [style.name for style in STYLES]),
    ],
)
def test_what_there_is_not_is_refused_before_anything_is_written(
    folder: Path, option: str, value: str, right: list[str]
) -> None:
    before = sorted(folder.rglob("*"))
    done = report(folder, option, value)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert all(name in done.stderr for name in right)
    assert sorted(folder.rglob("*")) == before


def test_the_findings_go_to_stdout_and_elsewhere_if_asked(folder: Path, tmp_path: Path) -> None:
    done = report(folder, "--json", "--output", tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["provenance"]["title"] == "A printed study"
    assert (tmp_path / "elsewhere" / "index.html").is_file()
    assert (tmp_path / "elsewhere" / "findings.json").is_file()
    assert [path.name for path in folder.iterdir()] == ["collection.json"]


def test_help_names_every_style_and_format() -> None:
    done = report("--help")
    names = [one.name for one in (*STYLES, *FORMATS)]
    assert [name for name in names if name not in done.stdout] == []
    assert "default: ()" not in done.stdout


@pytest.mark.parametrize(
    ("output", "code"), [("mail", 4), ("mail/collection.json", 2), ("mail/collection.json/x", 2)]
)
def test_a_report_does_not_go_where_a_study_or_a_file_is(
    folder: Path, output: str, code: int
) -> None:
    done = report(folder, "--output", folder.parent / output)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in folder.iterdir()] == ["collection.json"]


def on_a_terminal(
    stdout: io.TextIOWrapper, monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> int:
    """The command's exit code, with its output on a terminal of one's own."""
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "argv", ["tiltyard", "report", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_a_terminal_that_lacks_characters_shows_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.BytesIO()
    terminal = io.TextIOWrapper(shown, encoding="ascii")
    assert on_a_terminal(terminal, monkeypatch, folder) == 0
    terminal.flush()
    assert b"xfs ?" in shown.getvalue()


def test_json_is_utf_8_on_every_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    terminal = io.TextIOWrapper(shown, encoding="latin-1")
    assert on_a_terminal(terminal, monkeypatch, folder, "--json") == 0
    assert shown.getvalue().decode() == (
        f"{Findings.model_validate_json(shown.getvalue()).model_dump_json(indent=2)}\n"
    )
    assert not shown.getvalue().isascii()


def test_a_reader_that_goes_away_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        assert isinstance(gone, io.TextIOWrapper)
        assert on_a_terminal(gone, monkeypatch, folder) == 0
    # What was not written stays in the console, which ends with its process.
    out.cache_clear()
    assert capsys.readouterr().err == ""


def test_a_package_that_is_missing_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'typst'", name="typst")

    monkeypatch.setattr(use_case, "_write", without)
    terminal = io.TextIOWrapper(io.BytesIO())
    assert on_a_terminal(terminal, monkeypatch, folder, "--format", "pdf") == 3
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "typst is not installed" in error


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(folder: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    code = f"{limit}from tiltyard.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, "report", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "findings.json" in done.stderr
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["collection.json"]


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ("{", "", "Invalid JSON"),
        ('"question"', '"quastion"', "collection.question: Field required"),
        ('"ext4"', '"ext3"', "was changed after the import"),
        ("101000000.0", "701000000.0", "was changed after the import"),
    ],
)
def test_a_damaged_collection_is_one_line(folder: Path, was: str, now: str, what: str) -> None:
    path = folder / "collection.json"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now, 1))
    done = report(folder)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"collection.json: {what}" in done.stderr


@pytest.mark.parametrize(
    "of_value", [{"blocks": (1,)}, {"groups": ("may",)}, {"within": ((1.0,),)}]
)
def test_a_collection_that_contradicts_itself_is_refused(
    tmp_path: Path, of_value: dict[str, tuple[object, ...]]
) -> None:
    """As a stranger may write it, with its right sum."""
    values = {"metric": "throughput", "system": "ext4", "values": (1.0, 2.0, 3.0), **of_value}
    write_collection(StudyFolder(tmp_path / "study"), collection([Reading.model_validate(values)]))
    with pytest.raises(UsageError, match="not as many blocks, groups or repeats as values"):
        read_collection(tmp_path / "study")
