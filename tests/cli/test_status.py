"""How far a study is, in words."""

import re
from pathlib import Path

import pytest

from support.hosts import state
from support.runs import NOISE_LIMITS, SMOKE, Watcher, directory_system, go_on, place, plan_of
from tiltyard.cli.status import status
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.plan.model import Plan
from tiltyard.run import block, settle
from tiltyard.run.record import Reason, told_briefly
from tiltyard.run.runner import run_study

__all__ = ["state"]
DISTURBED = tuple(
    Reason(signal="steal", system="a", workload="w", value=v, limit=0.01, text=f"{v:.0%} stolen")
    for v in (0.1, 0.5, 0.2)
)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Path) -> tuple[StudyFolder, Plan]:
    """A study of which the second block is disturbed."""
    del state
    monkeypatch.setattr(settle, "_LIMIT_S", 0.0)
    monkeypatch.setattr(block, "check_block", lambda _h, _p, n, _r: DISTURBED if n == 2 else ())
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    twice = SMOKE.model_copy(update={"trials": 2})
    plan = plan_of(
        systems, workloads=(twice,), blocks=4, looks=(2, 4), spares=1, noise_limits=NOISE_LIMITS
    )
    design = plan.design.model_copy(update={"profile": "quick"})
    plan = plan.model_copy(update={"study_sha256": sha256(b""), "design": design})
    folder = place(tmp_path / "study", plan)
    write_whole(folder.study, b"")
    write_whole(folder.plan, plan.document())
    return folder, plan


def told(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    status(folder.root)
    return capsys.readouterr().out.splitlines()


def test_before_anything_has_run(
    study: tuple[StudyFolder, Plan], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(study[0], capsys)
    assert "Blocks   0 of at most 4 complete, 0 trials kept" in lines
    assert "Left     not known before every workload has been run once" in lines


def test_between_two_looks(
    study: tuple[StudyFolder, Plan], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, plan = study

    class Impatient(Watcher):
        def looked(self, *_: object) -> None:
            raise InterruptedRunError("enough")

    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, Engine.find(), go_on, Impatient())
    question, blocks, disturbed, last, still_open, failed, left, state = told(folder, capsys)
    assert question == "Question Which?"
    assert blocks == "Blocks   2 of at most 4 complete, 12 trials kept"
    assert disturbed == "Noise    1 of 3 blocks disturbed: 1 replaced, 0 count all the same"
    assert last == "         the last, block 2: 50% stolen, and 2 more"
    assert still_open == "Open     2 of 2 pairs of system and workload go on"
    assert failed == "Failed   0"
    assert re.fullmatch(r"Left     (\d\S* s|\d+:\d\d) to the look after 4 blocks", left), left
    assert state == f"State    not finished; go on with: tiltyard run {folder.root}"


def test_at_the_end(study: tuple[StudyFolder, Plan], capsys: pytest.CaptureFixture[str]) -> None:
    folder, plan = study
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    lines = told(folder, capsys)
    assert "Blocks   4 of at most 4 complete, 20 trials kept" in lines
    report = f"Report   tiltyard report {folder.root}"
    assert lines[-2:] == ["State    all planned blocks are done: 4", report]
    assert not any(line.startswith(("Left", "Open")) for line in lines)


def test_a_reason_is_told_briefly() -> None:
    assert told_briefly(DISTURBED[:1]) == "10% stolen"
    assert told_briefly(DISTURBED) == "50% stolen, and 2 more"


def test_a_limit_of_nothing_is_exceeded_most() -> None:
    swap = DISTURBED[0].model_copy(update={"limit": 0.0, "text": "swapped"})
    assert told_briefly((*DISTURBED, swap)) == "swapped, and 3 more"
