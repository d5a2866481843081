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
[noise]
disturbed = "keep"
"""


@needs_root
@pytest.mark.parametrize(
    ("fast", "slow", "seconds", "ratio", "within"),
    [
        # A bucket of 256 KiB makes good what a machine that stands still for 0.26 s has not sent
        # of 8 Mbit/s; of 50 Mbit/s it holds 0.04 s, and a shared machine stands still for longer.
        # What bucket and buffers take weighs more in so short a trial of the slower one.
        pytest.param("8mbit", "4mbit", 1.0, 0.52, 0.06, id="smoke"),
        pytest.param(
            "500mbit", "475mbit", 3.0, 0.950, 0.005, id="long", marks=pytest.mark.conformance
        ),
    ],
)
def test_a_known_ratio_is_found(
    fast: str, slow: str, seconds: float, ratio: float, within: float, tmp_path: Path
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
    assert slower.ratio == pytest.approx(ratio, abs=within)
    assert slower.verdict == "slower"
