"""What a study folder holds is whole, whatever the disk does while it is written."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support.faulty_fs import READ_ONLY, Fault, faulty
from support.hosts import needs_root
from support.patience import PATIENCE_S
from support.small_disk import filled_and_freed, small_disk
from tiltyard.app.freeze import planned
from tiltyard.errors import ExitCode
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.run.journal import Journal, Stopped, read_journal
from tiltyard.run.stream import read_stream

TESTS = Path(__file__).resolve().parents[1]
ATTEMPTS = 2
STUDY = """
question = "Which?"
[factors]
directory = {{ a = "{a}", b = "{b}" }}
[[workload]]
use = "postmark"
transactions = 20
files = 20
[precision]
blocks = 6
[conditions]
unpinned = true
[noise]
disturbed = "keep"
"""


def tiltyard(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The unchanged command, as a process."""
    argv = (sys.executable, "-m", "tiltyard", *map(str, words))
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def assert_whole(study: Path, *, at_rest: bool = True) -> None:
    """Every file under its own name can be read to its end, and nothing else is left."""
    if (study / "journal.jsonl").exists():
        read_journal(study / "journal.jsonl")
    for trial in study.glob("trials/*.jsonl.gz"):
        assert read_stream(trial.read_bytes()).outcome == ("done", None)
    for name in ("plan.json", "findings.json", "report/report.json"):
        if (study / name).exists():
            json.loads((study / name).read_bytes())
    page = study / "report/index.html"
    assert not page.exists() or page.read_text().rstrip().endswith("</html>")
    if at_rest:
        assert not list(study.rglob("*.partial"))


def made_in(study: Path, beside: Path) -> None:
    """A study of two directories that lie elsewhere."""
    study.mkdir()
    directories = {name: beside / name for name in "ab"}
    for directory in directories.values():
        directory.mkdir()
    (study / "study.toml").write_text(STUDY.format(**directories))


@needs_root
def test_a_run_and_its_report_on_a_disk_that_fills_and_frees(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 3 * 2**20) as disk:
        study = disk / "study"
        made_in(study, tmp_path)
        planned(StudyFolder(study), Engine.find())
        failed = 0
        for seed in range(ATTEMPTS):
            with filled_and_freed(disk, seed, rounds=100_000):
                done = tiltyard("run", study)
            failed += done.returncode != 0
            assert done.returncode in (0, ExitCode.HOST_LACKS, ExitCode.TRIALS_FAILED), done.stderr
            assert "Traceback" not in done.stderr
            assert_whole(study)
        assert failed
        subprocess.run((sys.executable, "-m", "support.runs", study), cwd=TESTS, check=True)
        for seed in range(ATTEMPTS):
            with filled_and_freed(disk, seed, rounds=100_000):
                assert tiltyard("report", study).returncode in (0, ExitCode.HOST_LACKS)
            assert_whole(study)
        assert tiltyard("report", study).returncode == 0
        assert_whole(study)


@needs_root
@pytest.mark.parametrize(
    "fault",
    [
        Fault("write", 3, "ENOSPC", "journal.jsonl"),
        Fault("fsync", 4, "EIO", "journal.jsonl"),
        Fault("create", 2, "EDQUOT", "trials/"),
        Fault("write", 1, "EIO", "trials/"),
        Fault("rename", 1, "EIO", "plan.json"),
        Fault("write", 5, READ_ONLY, "journal.jsonl"),
    ],
    ids=lambda fault: f"{fault.call}-{fault.nth}-{fault.what}-{Path(fault.path).stem}",
)
def test_a_run_on_a_file_system_that_fails_once(tmp_path: Path, fault: Fault) -> None:
    shown = tmp_path / "shown"
    made_in(shown, tmp_path)
    with faulty(shown, tmp_path / "faulty", [fault]) as injected:
        done = tiltyard("run", tmp_path / "faulty")
        told = injected.read_text().splitlines()
    assert told[0].startswith(f"{fault.call} {fault.nth} {fault.what}")
    assert "Traceback" not in done.stderr
    assert done.returncode == ExitCode.HOST_LACKS, done.stderr
    assert str(tmp_path / "faulty") in done.stderr
    assert_whole(shown, at_rest=fault.what != READ_ONLY)
    if (shown / "plan.json").exists():
        subprocess.run((sys.executable, "-m", "support.runs", shown), cwd=TESTS, check=True)
        assert_whole(shown)


@needs_root
def test_a_line_that_was_refused_and_not_cut_off_is_cut_before_the_next(tmp_path: Path) -> None:
    """All of it was written, but not synced, and then the disk did not let us take it back."""
    faults = [Fault("fsync", 2, "EIO"), Fault("truncate", 1, "EIO")]
    with faulty(tmp_path / "disk", tmp_path / "faulty", faults) as injected:
        path = tmp_path / "faulty" / "journal.jsonl"
        with Journal.open(path)[0] as journal:
            taken = [journal.append(Stopped(reason="a"))]
            with pytest.raises(OSError, match="jsonl"):
                journal.append(Stopped(reason="b"))
            assert path.read_bytes().count(b"\n") == 2
            taken.append(journal.append(Stopped(reason="c")))
        assert read_journal(path) == taken
        assert len(injected.read_text().splitlines()) == len(faults)


@needs_root
def test_a_journal_on_a_disk_that_fills_and_frees_keeps_each_line_that_it_took(
    tmp_path: Path,
) -> None:
    draw = random.Random(7)
    with small_disk(tmp_path / "disk", 2**20) as disk:
        path = disk / "journal.jsonl"
        taken, refused = [], 0
        journal, _ = Journal.open(path)
        with journal, filled_and_freed(disk, seed=4711, rounds=100_000, pause_s=0.001):
            for number in range(10_000):
                # Where whoever fills the disk has had no turn, the journal itself fills it.
                if number >= 250 and refused:
                    break
                event = Stopped(reason=f"{number} " + "x" * draw.randrange(6000))
                try:
                    taken.append(journal.append(event))
                except OSError:
                    refused += 1
        assert refused
        assert read_journal(path) == taken


def test_a_damaged_line_of_a_journal_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"{}\n{}\n")
    with pytest.raises(Exception, match=r"jsonl:1: .* Fix: put the journal back .* \(head -n 0\)"):
        read_journal(path)
