"""Session to session: a study that is repeated with another order finds what was predicted.

The interval takes it that both sessions are alike. Of real ones that is so on a host on which
nothing else runs: one moment that others take falls into one session, and moves its estimate by
more than the quiet blocks of the other one let expect. So the live test needs such a host; the
smoke test repeats a real study, and the interval is held to what it promises on drawn sessions.
"""

import itertools
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from support.observed import RECORDS, findings_of
from support.runs import Watcher
from tiltyard.analysis.decision import decision
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Cell
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import TrialKey
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
[noise]
disturbed = "keep"
"""


def session(root: Path, seed: int, blocks: int) -> tuple[list[TrialKey], tuple[Cell, ...]]:
    """Carry the study out once more; its trials in their order, and its cells."""
    folder, engine = StudyFolder(root / str(seed)), Engine.find()
    write_whole(folder.study, STUDY.format(seed=seed, blocks=blocks).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    run_study(folder, plan, engine, lambda run: decision(analyse(plan, run)), Watcher())
    run = read_run(folder, plan)
    (workload,) = analyse(plan, run).workloads
    return [trial.key for trial in run.trials], workload.cells


def inside(first: Cell, second: Cell) -> bool:
    """Whether the estimate of the repetition lies in the first session's prediction interval."""
    ((before,), (after,)) = first.comparisons, second.comparisons
    assert before.ratio is not None
    assert after.ratio is not None
    deviation = float(np.log(before.differences).std(ddof=1))
    low, high = prediction_interval(
        math.log(before.ratio), deviation, len(before.differences), len(after.differences)
    )
    assert low < math.log(before.ratio) < high
    return low <= math.log(after.ratio) <= high


def hits_of(sessions: Iterable[tuple[Cell, ...]]) -> list[bool]:
    """Of each session and the next one, cell by cell."""
    return [
        inside(one, other)
        for first, second in itertools.pairwise(sessions)
        for one, other in zip(first, second, strict=True)
    ]


def repeated(root: Path, sessions: int, blocks: int) -> list[bool]:
    """Sessions with seeds of their own, each held against the next."""
    made = [session(root, seed, blocks) for seed in range(1, sessions + 1)]
    orders = [[key.system for key in keys] for keys, _ in made]
    assert all(one != other for one, other in itertools.pairwise(orders))
    hits = hits_of(cells for _, cells in made)
    assert len(hits) == 26 * (sessions - 1)
    return hits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with the two that are compared."""
    for name in "ab":
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_study_is_repeated_in_another_order_with_the_same_cells(root: Path) -> None:
    repeated(root, sessions=2, blocks=7)


@pytest.mark.conformance
def test_a_repetition_is_where_it_was_predicted(root: Path) -> None:
    assert np.mean(repeated(root, sessions=10, blocks=20)) >= 0.90


@pytest.mark.parametrize(("blocks", "noise"), [(7, 0.02), (7, 0.5), (20, 0.1)])
def test_the_same_with_sessions_that_are_drawn(blocks: int, noise: float) -> None:
    """Each block has an effect that its two systems share, and each cell noise of its own."""
    rng = np.random.default_rng(23)
    drawn = []
    for _ in range(100):
        shared = rng.normal(0, 3 * noise, (blocks, 1, 1))
        logs = shared + rng.normal(0, noise, (blocks, 2, len(RECORDS)))
        drawn.append(findings_of(logs).workloads[0].cells)
    hits = hits_of(drawn)
    assert len(hits) == len(RECORDS) * 99
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)
