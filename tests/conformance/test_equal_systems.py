"""A/A on real mounts: one file system under two names must not win more often than it may."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from scipy.stats import binom

from support.hosts import needs_root
from support.runs import Watcher
from tiltyard.analysis.decision import all_comparisons, decision
from tiltyard.analysis.findings import analyse
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.plan.freeze import freeze
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS

STUDY = """\
question = "Is ext4 faster than ext4?"
seed = {seed}
[factors]
filesystem = {{ a = "ext4", b = "ext4" }}
[systems]
backing = {{ image = "64M" }}
[[workload]]
use = "postmark"
files = 100
transactions = 1_000
[[workload]]
use = "iozone"
file = "1M"
record = "64k"
[precision]
blocks = 7
[noise]
disturbed = "keep"
"""
MAY_CLAIM = 0.05 + 0.05
"""A study may be wrong in its cells (Benjamini–Hochberg) or in its indices (Holm), 5 % each."""


def names_a_winner(root: Path, seed: int) -> bool:
    """Carry one study out on real mounts; whether it finds any difference."""
    folder, engine = StudyFolder(root), Engine.find()
    write_whole(folder.study, STUDY.format(seed=seed).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    run_study(folder, plan, engine, lambda run: decision(analyse(plan, run)), Watcher())
    findings = analyse(plan, read_run(folder, plan))
    assert (findings.look, findings.trials_kept, findings.trials_failed) == (7, 28, 0)
    assert findings.family == 13, "tests of iozone; the one metric of postmark is its headline"
    return any(found.verdict in ("faster", "slower") for found in all_comparisons(findings))


@needs_root
@pytest.mark.parametrize(
    "studies",
    [pytest.param(5, id="smoke"), pytest.param(60, id="long", marks=pytest.mark.conformance)],
)
def test_a_file_system_does_not_beat_itself(studies: int, tmp_path: Path) -> None:
    wrong = sum(names_a_winner(tmp_path / str(seed), seed) for seed in range(studies))
    may = int(binom.isf(1e-4, studies, MAY_CLAIM))
    assert wrong <= may, f"{wrong} of {studies} studies name a winner; {may} may"
