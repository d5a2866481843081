"""Session to session: a study that is repeated with another order finds what was predicted."""

import itertools
import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from support.runs import Watcher
from tiltyard.analysis.decision import decision
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Cell
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.plan.freeze import freeze
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.stats.planning import prediction_interval
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS

STUDY = """\
question = "Is one directory faster than the other?"
seed = {seed}
[factors]
directory = {{ a = "../a", b = "../b" }}
[[workload]]
use = "iozone"
file = "4M"
record = ["4k", "64k"]
[precision]
blocks = {blocks}
[gates]
spoiled = "keep"
"""


def session(root: Path, seed: int, blocks: int) -> tuple[Cell, ...]:
    """Carry the study out once more; its cells."""
    folder, engine = StudyFolder(root / str(seed)), Engine.find()
    write_whole(folder.study, STUDY.format(seed=seed, blocks=blocks).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    run_study(folder, plan, engine, lambda run: decision(analyse(plan, run)), Watcher())
    (workload,) = analyse(plan, read_run(folder, plan)).workloads
    return workload.cells


def inside(first: Cell, second: Cell) -> bool:
    """Whether the estimate of the repetition lies in the first session's prediction interval."""
    ((before,), (after,)) = first.comparisons, second.comparisons
    assert before.ratio is not None
    assert after.ratio is not None
    deviation = float(np.log(before.differences).std(ddof=1))
    low, high = prediction_interval(
        math.log(before.ratio), deviation, len(before.differences), len(after.differences)
    )
    return low <= math.log(after.ratio) <= high


@pytest.mark.parametrize(
    ("sessions", "blocks", "least"),
    [
        pytest.param(3, 7, 0.75, id="smoke"),
        pytest.param(10, 20, 0.90, id="long", marks=pytest.mark.conformance),
    ],
)
def test_a_repetition_is_where_it_was_predicted(
    sessions: int, blocks: int, least: float, tmp_path: Path
) -> None:
    """Cells of a session are correlated, so that few sessions may miss several at once."""
    for name in "ab":
        (tmp_path / name).mkdir()
    made = [session(tmp_path, seed, blocks) for seed in range(1, sessions + 1)]
    hits = [
        inside(one, other)
        for first, second in itertools.pairwise(made)
        for one, other in zip(first, second, strict=True)
    ]
    assert len(hits) == 26 * (sessions - 1)
    assert np.mean(hits) >= least
