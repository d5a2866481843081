"""``tiltyard export``: to a file, or to a clean stdout."""

import csv
import io
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from support.collections import collection
from tiltyard.cli.export import export
from tiltyard.collected.model import Reading
from tiltyard.collected.store import write_collection
from tiltyard.errors import RefusedError, UsageError
from tiltyard.exporters import EXPORTERS
from tiltyard.exporters.exporter import Exporter
from tiltyard.folder import StudyFolder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    readings = tuple(
        Reading(metric="throughput", system=system, values=(1.0, 2.0, 3.0))
        for system in ("ext4", "xfs")
    )
    write_collection(StudyFolder(tmp_path), collection(readings))
    return tmp_path


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_a_file_is_written_beside_the_report_and_named(
    exporter: Exporter, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(study, to=exporter.name)
    path = study / "report" / exporter.file
    assert path.stat().st_size > 0
    assert "".join(capsys.readouterr().out.split()) == str(path)


def test_stdout_has_the_data_and_nothing_else(
    study: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    export(study, to="csv", output="-")
    text = capsysbinary.readouterr().out.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["value"] for row in rows] == ["1.0", "2.0", "3.0"] * 2
    assert not (study / "report").exists()


def test_bytes_go_to_a_pipe_but_not_to_a_terminal(
    study: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    export(study, to="parquet", output="-")
    assert parquet.read_table(io.BytesIO(capsysbinary.readouterr().out)).num_rows == 6
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(UsageError, match="stdout is a terminal"):
        export(study, to="parquet", output="-")
    assert capsysbinary.readouterr().out == b""


def test_a_file_can_be_named(study: Path, tmp_path: Path) -> None:
    export(study, to="bencher", output=str(tmp_path / "deep" / "x.json"))
    assert (tmp_path / "deep" / "x.json").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "phoronx"}, 'Did you mean "phoronix"'),
        ({"to": "csv", "output": "/"}, "a directory"),
    ],
)
def test_what_cannot_be_is_said(study: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        export(study, **options)


def test_the_help_names_every_format() -> None:
    assert [one.name for one in EXPORTERS if f"`{one.name}`" not in (export.__doc__ or "")] == []


@pytest.mark.parametrize("name", ["collection.json", "sources/a.txt"])
def test_a_part_of_a_study_is_never_overwritten(study: Path, name: str) -> None:
    part = study / name
    part.parent.mkdir(exist_ok=True)
    part.touch()
    before = part.read_bytes()
    with pytest.raises(RefusedError, match="belongs to a study"):
        export(study, to="csv", output=str(part))
    assert part.read_bytes() == before


def test_a_file_beside_a_study_is_written_again(study: Path) -> None:
    for name in ("report/values.csv", "../values.csv"):
        for _ in range(2):
            export(study, to="csv", output=str(study / name))
