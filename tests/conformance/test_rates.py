"""Two token buckets whose rates are known: the ratio that is found must be theirs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher
from tiltyard.analysis.decision import decision
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
question = "Is a link of {slow} slower than one of {fast}?"
seed = 4711
[factors]
rate = ["{fast}", "{slow}"]
[[workload]]
use = "tcp_stream"
seconds = {seconds}
[precision]
blocks = 6
[gates]
spoiled = "keep"
"""


@needs_root
@pytest.mark.parametrize(
    ("fast", "slow", "seconds", "within"),
    [
        # Slow enough that a busy machine keeps the bucket full: a link of 500 Mbit/s needs a
        # core at the right moments, and has been found at 0.85 beside other work.
        pytest.param("50mbit", "47500kbit", 1.0, 0.02, id="smoke"),
        pytest.param("500mbit", "475mbit", 3.0, 0.005, id="long", marks=pytest.mark.conformance),
    ],
)
def test_a_known_ratio_is_found(
    fast: str, slow: str, seconds: float, within: float, tmp_path: Path
) -> None:
    folder, engine = StudyFolder(tmp_path), Engine.find()
    write_whole(folder.study, STUDY.format(fast=fast, slow=slow, seconds=seconds).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    run_study(folder, plan, engine, lambda run: decision(analyse(plan, run)), Watcher())
    (workload,) = analyse(plan, read_run(folder, plan)).workloads
    (slower,) = (one for one in workload.index.comparisons if one.system == slow)
    assert slower.ratio == pytest.approx(0.950, abs=within)
    assert slower.verdict == "slower"
