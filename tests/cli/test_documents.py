"""``--json`` and ``--quiet``: one document on stdout as its schema says, and nothing beside."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema
import pytest

from support.patience import PATIENCE_S
from support.synthetic import synthetic_study
from tiltyard.app import check
from tiltyard.app.documents import DOCUMENTS
from tiltyard.folder import StudyFolder
from tiltyard.wire.end_types import Device

TILTYARD = Path(sys.executable).parent / "tiltyard"
SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
STUDY = """
question = "?"
[factors]
directory = ["a", "b"]
[[workload]]
use = "random"
file = "1M"
operations = 100
[precision]
blocks = 6
[noise]
disturbed = "keep"
reference_run = "0%"
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A study that has been carried out, and the folder it lies in."""
    with TemporaryDirectory(dir="/dev/shm") as name:
        for system in ("a", "b"):
            (Path(name) / "spool" / system).mkdir(parents=True)
        (Path(name) / "spool/study.toml").write_text(STUDY)
        yield Path(name)


def tiltyard(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TILTYARD, *words],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TILTYARD_STATE": str(place / "state")},
    )


def document(place: Path, *words: str, code: tuple[int, ...] = (0,)) -> dict:
    done = tiltyard(place, *words, "--json", "--quiet")
    assert done.returncode in code, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    (kind,) = (one for one in DOCUMENTS if words[0] in one.verbs)
    schema = json.loads((SCHEMAS / f"{kind.name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


def test_each_verb_prints_what_its_schema_says(place: Path) -> None:
    checked = document(place, "check", "spool")
    assert checked["systems"] == ["a", "b"]
    assert (checked["disk_bytes"], checked["written_bytes"]) == (0, None)
    findings = document(place, "run", "spool")
    assert findings["blocks_done"] == 6
    status = document(place, "status", "spool")
    (session,) = status["sessions"]
    assert (session["state"], session["blocks"], session["trials"]) == ("ended", 6, 12)
    assert document(place, "plan", "spool")["pairs"]
    assert document(place, "report", "spool")["plan_hash"] == findings["plan_hash"]
    assert document(place, "gate", "spool", "--within", "90%", code=(0, 6, 7))["blocks"] == 6
    assert document(place, "doctor", code=(0, 3))["checks"]
    assert document(place, "explain", "undecided")["meanings"][0]["sort"] == "word"
    assert document(place, "recommend", "--for", "mail")["studies"]
    assert document(place, "clean")["removed"] is False
    assert isinstance(document(place, "devices")["devices"], list)


def test_compare_prints_its_findings(place: Path) -> None:
    words = ("compare", "-c", "one=true", "-c", "two=true", "--runs", "6")
    findings = document(place, *words)
    assert [system["name"] for system in findings["systems"]] == ["one", "two"]


def test_without_quiet_progress_goes_to_stderr(place: Path) -> None:
    done = tiltyard(
        place, "compare", "-c", "three=true", "-c", "four=true", "--runs", "6", "--json"
    )
    json.loads(done.stdout)
    assert "block 1/6" in done.stderr


def test_quiet_leaves_results_and_errors(place: Path) -> None:
    done = tiltyard(place, "run", "nowhere", "-q")
    assert done.returncode == 2
    assert "no study here" in done.stderr
    assert "Answer" in tiltyard(place, "report", "spool", "-q").stdout


def test_every_verb_with_json_has_a_document() -> None:
    from tiltyard.cli import app

    printing = {
        name
        for name in app
        if not name.startswith("-") and "--json" in str(app[name].assemble_argument_collection())
    }
    documented = {verb for one in DOCUMENTS for verb in one.verbs}
    assert documented <= printing


def test_what_will_be_written_is_what_trials_wrote_for_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, run = synthetic_study(("ext4", "xfs"), blocks=7)
    device = Device(name="sda", read_bytes=0, written_bytes=1000)
    trials = []
    for trial in run.trials:
        assert trial.end is not None
        usage = trial.end.usage.model_copy(update={"device": device})
        end = trial.end.model_copy(update={"usage": usage})
        trials.append(trial.model_copy(update={"end": end}))
    piloted = run.model_copy(update={"trials": tuple(trials)})
    monkeypatch.setattr(check, "read_plan", lambda _: plan)
    monkeypatch.setattr(check, "read_run", lambda *_: piloted)
    folder = StudyFolder(tmp_path)
    assert check._written_bytes(plan, folder) == 1000 * 2 * len(plan.blocks)
    monkeypatch.setattr(check, "read_run", lambda *_: run)
    assert check._written_bytes(plan, folder) is None
