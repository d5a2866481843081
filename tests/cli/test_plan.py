"""``tiltyard plan`` on the real engine: two directories in memory."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard.app.freeze import planned
from tiltyard.cli.plan import plan
from tiltyard.cli.printing import Printing
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.pilot import Pilot
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS

STUDY = """\
question = "Is one directory faster than the other?"
seed = 3
[factors]
directory = { a = "../a", b = "../b" }
[[workload]]
use = "iozone"
file = "128k"
record = "32k"
tests = ["write"]
"""


@pytest.fixture(scope="module")
def piloted() -> Iterator[StudyFolder]:
    """A study folder with a pilot."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name, pytest.MonkeyPatch.context() as patch:
        root = Path(name)
        patch.setenv("TILTYARD_STATE", str(root / "state"))
        for directory in ("a", "b", "study"):
            (root / directory).mkdir()
        folder = StudyFolder(root / "study")
        folder.study.write_text(STUDY)
        plan(folder.root, pilot=True)
        yield folder


@pytest.fixture
def copy(piloted: StudyFolder, tmp_path: Path) -> StudyFolder:
    """The same, to change it."""
    shutil.copytree(piloted.root, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


def pilot_in(folder: StudyFolder) -> Pilot:
    return Pilot.model_validate_json(folder.pilot_findings.read_bytes())


def forecast_of(
    folder: StudyFolder, capsys: pytest.CaptureFixture[str], **asked: str | float
) -> dict:
    plan(folder.root, printing=Printing(json=True), **asked)  # type: ignore[arg-type]
    return json.loads(capsys.readouterr().out)


def test_a_pilot_is_a_study_of_its_own(piloted: StudyFolder) -> None:
    own = read_plan(piloted.pilot)
    trials = read_run(piloted.pilot, own).trials
    assert len(trials) == 5 * 2 * 3
    assert all(trial.outcome == "done" for trial in trials)
    pilot = pilot_in(piloted)
    assert pilot.plan_hash == own.hash
    assert 1 <= pilot.workloads[0].trials <= 5
    assert not piloted.plan.exists(), "the study itself has not begun"
    assert not piloted.journal.exists()


def test_the_plan_takes_its_counts_up_and_none_of_its_data(copy: StudyFolder) -> None:
    made = planned(copy, Engine.find())
    pilot = pilot_in(copy)
    assert made.workloads[0].spec.trials == pilot.workloads[0].trials
    assert read_run(copy, made).trials == ()


def test_the_same_pilot_gives_the_same_findings(piloted: StudyFolder) -> None:
    before = piloted.pilot_findings.read_bytes()
    piloted.pilot_findings.unlink()
    plan(piloted.root, pilot=True)
    assert piloted.pilot_findings.read_bytes() == before


def test_json_holds_all_of_it(piloted: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    found = forecast_of(piloted, capsys, budget="45 min", within="5%", power=0.8)
    assert found["source"].startswith("a pilot of 5 blocks, 3 trials in each turn")
    assert (found["within"], found["power"], found["family"]) == (0.05, 0.8, 1)
    (pair,) = found["pairs"]
    assert [look["blocks"] for look in pair["looks"]] == [7, 10, 14, 20]
    widths = [look["half_width"] for look in pair["looks"]]
    assert widths == sorted(widths, reverse=True)
    assert found["budget"]["look"] == 20, "a block of tiny trials takes less than two minutes"
    assert set(found["budget"]["differences"]) == {"iozone"}


def test_precision_costs_blocks(piloted: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    needed = [
        forecast_of(piloted, capsys, within=within)["pairs"][0]["blocks_within"]
        for within in ("50%", "1%", "0.1%")
    ]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]


def test_people_get_a_table(piloted: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    plan(piloted.root, budget="45 min")
    said = capsys.readouterr().out
    assert "b / a" in said
    assert "Source   a pilot of 5 blocks, 3 trials in each turn" in said
    assert "Budget   45:00: 20 blocks; differences that are found with 90 %: iozone above" in said


def test_short_cells_are_named_with_what_to_write_and_what_it_costs(
    copy: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of 128 KiB in memory is written in less than a millisecond."""
    (own,) = forecast_of(copy, capsys)["short_cells"]
    assert own["short"] == own["cells"] > 0
    assert own["longer_trial_s"] > own["trial_s"]
    plan(copy.root)
    said = capsys.readouterr().out
    (line,) = (line.strip() for line in said.splitlines() if line.strip().startswith("file = "))
    assert f"IOzone: {own['short']} of {own['cells']} take less than 0.1 s" in said
    assert "Nothing is changed by itself" in said
    assert copy.study.read_text() == STUDY
    copy.study.write_text(STUDY.replace('file = "128k"', line))
    made = load_study(copy.study, Engine.find().describe(), KINDS)
    assert made.workloads[0].parameters["file"] == own["parameters"]["file"]


@pytest.mark.parametrize(
    ("foreign_cpu", "said"), [(0.01, "in each turn"), (1.4, ", while others used 140 % of a core")]
)
def test_a_busy_host_is_said_to_be(
    copy: StudyFolder, capsys: pytest.CaptureFixture[str], foreign_cpu: float, said: str
) -> None:
    pilot = pilot_in(copy)
    busy = pilot.model_copy(update={"telemetry": {"foreign_cpu": foreign_cpu}})
    copy.pilot_findings.write_bytes(busy.document())
    assert forecast_of(copy, capsys)["source"].endswith(said)


def test_an_earlier_run_tells_as_much(
    piloted: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pilot is a study like any other: here it stands for one that was run."""
    shutil.copytree(piloted.pilot.root, tmp_path / "run")
    found = forecast_of(StudyFolder(tmp_path / "run"), capsys)
    assert found["source"] == "the trials of this study so far"
    assert found["trials"] == {"iozone": 3}
    assert [look["blocks"] for look in found["pairs"][0]["looks"]] == [5]


def test_nothing_known_is_one_clear_line(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    folder.study.write_text(STUDY)
    with pytest.raises(UsageError) as caught:
        plan(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: nothing is known of the noise yet; tiltyard plan {tmp_path} --pilot "
        "measures it"
    )
    assert caught.value.exit_code == 2
    assert not folder.plan.exists()


def test_a_pilot_of_something_else_foresees_nothing(copy: StudyFolder) -> None:
    planned(copy, Engine.find())
    other = pilot_in(copy).model_copy(update={"systems_sha256": "0" * 64})
    copy.pilot_findings.write_bytes(other.document())
    with pytest.raises(UsageError, match="was about other systems"):
        plan(copy.root)


def test_a_pilot_of_a_changed_study_is_not_gone_on_with(copy: StudyFolder) -> None:
    copy.study.write_text(STUDY.replace("32k", "64k"))
    with pytest.raises(UsageError, match=r"was made before .* was changed"):
        plan(copy.root, pilot=True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"budget": "soon"}, '--budget: "soon" is not a duration'),
        ({"within": "little"}, '--within: "little" is not a percentage'),
        ({"within": "0%"}, "--within: no interval is that narrow"),
        ({"power": 1.0}, "--power 1: a chance of more than 0.5 and less than 1"),
    ],
)
def test_what_cannot_be_meant_is_said(
    piloted: StudyFolder, asked: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan(piloted.root, **asked)  # type: ignore[arg-type]
