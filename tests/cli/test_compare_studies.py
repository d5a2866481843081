"""``tiltyard compare STUDY STUDY…`` on studies that were really run."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tiltyard.analysis.model import Findings
from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import Exports, compare
from tiltyard.cli.measuring import Measuring
from tiltyard.cli.printing import Printing
from tiltyard.cli.report import report
from tiltyard.errors import ExitCode, RefusedError, UsageError

PUBLISHED = Path(__file__).resolve().parents[2] / "published"
COMMANDS = ("a=sleep 0.002", "b=sleep 0.02")


@pytest.fixture(scope="module")
def here() -> Iterator[Path]:
    """A place with two studies of one question, ``may`` and ``june``."""
    with TemporaryDirectory(dir="/dev/shm") as name, pytest.MonkeyPatch.context() as patch:
        place = Path(name)
        patch.chdir(place)
        patch.setenv("TILTYARD_STATE", str(place / "state"))
        for month in ("may", "june"):
            run(place / month)
        yield place


def run(folder: Path) -> None:
    """The question of all these studies, once more."""
    compare(commands=Commands(command=COMMANDS, runs=6), folder=folder)


@pytest.fixture(autouse=True)
def at(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)


def test_two_studies_are_told_without_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("may", "june") == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "june relative to may" in shown
    assert "program time on b" in shown
    assert "takes 5 of each study, and there are 1 and 1" in " ".join(shown.split())
    assert compare("may", "june/", require_decision=True) == ExitCode.UNDECIDED


def test_three_are_pooled_and_their_page_is_made_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for month in ("july", "august", "september", "october"):
        run(here / month)
    capsys.readouterr()
    months = ("may", "june", "july", "august", "september", "october")
    folder = here / "half-a-year"
    assert compare(*months, folder=folder, require_decision=True) == ExitCode.DONE
    first = capsys.readouterr().out
    assert "another study" in first
    assert "b takes" in first
    page = (folder / "report/index.html").read_bytes()
    found = Findings.model_validate_json((folder / "findings.json").read_bytes())
    (pair,) = found.workloads[0].index.comparisons
    assert pair.verdict == "slower"
    assert b"Square: a study, larger with more blocks" in page
    assert b"Every comparison over the studies" in page
    assert b"another study" in page
    (folder / "findings.json").unlink()
    report(folder)
    assert Findings.model_validate_json((folder / "findings.json").read_bytes()) == found
    assert (folder / "report/index.html").read_bytes() == page
    with pytest.raises(UsageError, match="is itself a comparison of studies"):
        compare("may", str(folder))
    with pytest.raises(UsageError, match="other results are in this folder"):
        compare("may", "june", folder=folder)


def test_a_copy_of_a_run_counts_once(here: Path) -> None:
    shutil.copytree(here / "june", here / "copy")
    with pytest.raises(UsageError, match="copy: is a copy of june"):
        compare("may", "june", "copy")


@pytest.mark.parametrize("columns", [40, 80])
def test_the_forest_plot_fits_the_terminal(here: Path, columns: int) -> None:
    words = [Path(sys.executable).parent / "tiltyard", "compare", "--pool", "may", "june"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        cwd=here,
        env={"COLUMNS": str(columns), "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
    )
    lines = done.stdout.splitlines()
    plots = [line for line in lines if "●" in line or "◆" in line]
    assert len(plots) == 3
    assert all(len(line.rstrip()) <= columns for line in plots)
    assert [sum(mark in line for line in plots) for mark in "●◆"] == [2, 1]
    # The line of no difference is straight, and intervals may cross it.
    assert len({place for line in plots for place, sign in enumerate(line) if sign in "┊┼"}) == 1


def test_json_is_that_of_findings(capsys: pytest.CaptureFixture[str]) -> None:
    compare("may", "june", printing=Printing(json=True))
    document = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in document["provenance"]["studies"]] == ["may", "june"]
    assert Findings.model_validate(document).workloads[0].name == "program on a"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("may", "ext4"), "may is a study, and ext4 is none.*Fix: "),
        (("may", "."), "may is a study, and . is none"),
        (("may",), "one study is nothing to compare.*tiltyard report may"),
        (("may", "june/../may"), "one study is named twice"),
        (("may", str(PUBLISHED / "postmark-systems")), "nothing in common.*Fix: name studies of"),
    ],
)
def test_what_cannot_be_compared(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(*words)


def test_options_of_measuring_are_refused(here: Path) -> None:
    with pytest.raises(UsageError, match="--blocks: studies are compared as they were measured"):
        compare("may", "june", measuring=Measuring(blocks=8))
    for option in ("blocks", "seed"):
        with pytest.raises(UsageError, match=f"--{option}: studies are compared as they were"):
            compare("may", "june", measuring=Measuring(**{option: 0}))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--export-json: studies are compared as they were"):
        compare("may", "june", exports=Exports(export_json=here / "h.json"))
    with pytest.raises(UsageError, match="--command and its options: studies are compared"):
        compare("may", "june", commands=Commands(command=COMMANDS))
    with pytest.raises(UsageError, match="--pool goes with studies"):
        compare("ext4", "xfs", pool=True)
    with pytest.raises(RefusedError, match="not empty"):
        compare("may", "june", folder=here)
