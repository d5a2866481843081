"""A study of three sessions, on a host whose boots are named in a file."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.papers import squeezed
from support.patience import PATIENCE_S, wait_until
from tiltyard.app.report import findings_of
from tiltyard.cli.run import run
from tiltyard.cli.status import status
from tiltyard.errors import BusyError, ExitCode, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.host import processes
from tiltyard.run.journal import Started, TrialFinished, read_journal
from tiltyard.run.sessions import sessions_of

STUDY = """question = "Is b as fast as a?"
[factors]
place = { a = { directory = "da" }, b = { directory = "db" } }
[[workload]]
use = "iozone"
file = "128k"
record = "32k"
tests = ["write"]
[precision]
sessions = 3
blocks = 6
[noise]
disturbed = "keep"
reference_run = "0%"
"""
TRIALS = 12


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the boot is named."""
    file = tmp_path / "boot_id"
    file.write_text("11111111-first\n")
    monkeypatch.setattr(processes, "BOOT_ID", file)
    return file


@pytest.fixture
def study(tmp_path: Path, boot: Path) -> StudyFolder:
    """Nothing of it is run."""
    del boot
    folder = StudyFolder(tmp_path / "study")
    for name in ("da", "db"):
        (folder.root / name).mkdir(parents=True)
    folder.study.write_text(STUDY)
    return folder


def finished(folder: StudyFolder) -> list[str]:
    """Files of the trials that a session has, in order."""
    events = [entry.event for entry in read_journal(folder.journal)]
    return [event.file for event in events if isinstance(event, TrialFinished)]


def killed_after(folder: StudyFolder, boot: Path, session: int, trials: int) -> None:
    """The same command in a process, killed in the middle of a session."""
    own = folder.session(session)
    command = (sys.executable, "-m", "support.sessions", str(boot), "run", str(folder.root))
    with subprocess.Popen(command, cwd=Path(__file__).resolve().parents[1]) as process:

        def far_enough() -> bool:
            return own.journal.exists() and len(finished(own)) >= trials

        wait_until(far_enough, f"{trials} trials of session {session}")
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_three_boots_a_kill_and_a_session_more(
    study: StudyFolder, boot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(study.root) == ExitCode.DONE
    assert "Session  2 of the study comes after a boot" in capsys.readouterr().err
    plans = [session.plan for session in sessions_of(study)]
    assert len(plans) == 3
    assert len({block.number for plan in plans for block in plan.sequence}) == 3 * (6 + 1)
    frozen = {path: path.read_bytes() for path in study.root.rglob("plan.json")}
    assert len(frozen) == 3

    with pytest.raises(BusyError, match="or now: --new-session"):
        run(study.root)
    assert not study.session(2).journal.exists()

    boot.write_text("22222222-second\n")
    killed_after(study, boot, session=2, trials=5)
    kept = finished(study.session(2))
    with pytest.raises(UsageError, match="session 2 is not finished"):
        run(study.root, new_session=True)
    assert run(study.root) == ExitCode.DONE
    assert finished(study.session(2))[: len(kept)] == kept
    assert len(finished(study.session(2))) == TRIALS

    boot.write_text("33333333-third\n")
    assert run(study.root) == ExitCode.DONE
    assert "b" in findings_of(study.root).answer
    found = findings_of(study.root)
    assert found.stopped == "all 3 sessions are done"
    assert found.look == 18
    assert [line.boots[0][:8] for line in found.sessions.lines] == [digit * 8 for digit in "123"]
    assert all(line.apart.startswith("another boot") for line in found.sessions.lines[1:])

    assert run(study.root, new_session=True) == ExitCode.DONE
    more = findings_of(study.root)
    assert more.workloads == found.workloads
    assert [line.planned for line in more.sessions.lines] == [True, True, True, False]
    assert more.sessions.lines[3].apart.startswith("the same boot")
    assert frozen.items() <= {p: p.read_bytes() for p in study.root.rglob("plan.json")}.items()
    _assert_shown(study, capsys)


def _assert_shown(study: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Status, terminal, page and findings tell the same."""
    printed = capsys.readouterr().out
    assert "1 of them added to the finished study" in " ".join(printed.split())
    status(study.root)
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("Session")] == [
        f"Session  {number} of 4" for number in range(1, 5)
    ]
    page = (study.report / "index.html").read_text()
    assert "Ratio in each session, and over sessions" in page
    stored = json.loads(study.findings.read_text())
    sentence = stored["sessions"]["comparisons"][0]["sentence"]
    assert "3 of the 7 sessions that a verdict over sessions needs" in sentence
    assert "in one boot, less than 8 h apart: that counts once" in stored["sessions"]["sentence"]
    assert squeezed(sentence.partition(": ")[2].partition(" Whether")[0]) in squeezed(page)
    assert len({trial["block"] for trial in stored["trials"]}) == 18


def test_another_day_is_another_session(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(study.root) == ExitCode.DONE
    monkeypatch.setattr("tiltyard.run.sessions.APART_H", 0.0)
    assert run(study.root) == ExitCode.DONE
    assert len(finished(study.session(2))) == TRIALS
    [started] = [
        entry.event
        for entry in read_journal(study.session(2).journal)
        if isinstance(entry.event, Started)
    ]
    assert started.boot == "11111111-first"


def test_a_session_is_not_carried_out_by_itself(study: StudyFolder) -> None:
    assert run(study.root) == ExitCode.DONE
    with pytest.raises(UsageError, match=r"is session 2 of a study.*tiltyard run"):
        run(study.session(2).root)
    strange = study.session(2).plan
    strange.write_bytes(study.session(3).plan.read_bytes())
    with pytest.raises(UsageError, match="is not the plan of session 2"):
        status(study.root)
    strange.unlink()
    with pytest.raises(UsageError, match="the plan of session 2 of 3 is gone"):
        status(study.root)
