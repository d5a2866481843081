"""A comparison in a control group with a quota of CPU time, like that of a container."""

import subprocess
import sys
from pathlib import Path

from support.quotas import ENTER, group_with_quota
from tiltyard.analysis.findings import analyse
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run

BUSY = "{} -S -c 'sum(range({}))'"
"""It computes for longer than two periods allow, so that each execution has to wait."""
A, B = (BUSY.format(sys.executable, number) for number in (16_000_000, 16_200_000))
WORDS = ("-c", f"a={A}", "-c", f"b={B}", "--runs", "6")


def test_what_a_quota_allows_and_when_it_was_used_up_is_recorded_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    tiltyard = (sys.executable, "-m", "tiltyard", "compare", *WORDS, "--folder", str(folder))
    with group_with_quota() as group:
        subprocess.run((*ENTER, str(group), *tiltyard), check=True, capture_output=True)
    study = StudyFolder.of(folder)
    plan = read_plan(study)
    run = read_run(study, plan)
    count = run.record["limits"]["quota of CPU time"].removeprefix("0.4 of ")
    assert run.host["CPU quota"] == f"0.4 of {count}"
    held = [trial.telemetry.quota_throttled for trial in run.trials if trial.telemetry]
    assert len(held) == len(run.trials)
    assert all(held)
    assert not [one for found in run.disturbed.values() for one in found if one.signal == "quota"]
    told = [notice.text for notice in analyse(plan, run).notices]
    head = f"The programs of this study may use 0.4 of {count}: their control group has a quota."
    (found,) = [text for text in told if text.startswith(head)]
    assert found.endswith("the verdicts are those of this quota.")
