"""A real volume of two nodes, and a real study of it."""

from pathlib import Path

from support.gluster import STUDIES, needs_gluster, volumes
from support.runs import Watcher, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.load import read_study
from tiltyard.study.model import WorkloadSpec
from tiltyard.systems import KINDS

# Servers are charged in ticks of 10 ms, so there must be work for many of them.
SMALL = WorkloadSpec(
    name="postmark", use="postmark", parameters={"files": 200, "transactions": 300}
)

pytestmark = needs_gluster


def test_two_volumes_of_two_nodes_are_compared(tmp_path: Path, engine: Engine) -> None:
    path = STUDIES / "glusterfs.toml"
    study = read_study(path.read_text(), path, engine.describe(), KINDS)
    plan = plan_of(study.systems, workloads=(SMALL,), blocks=1)
    folder = place(tmp_path / "study", plan)
    with volumes(tmp_path):
        run_study(folder, plan, engine, go_on, Watcher())
    record = read_run(folder, plan)
    assert [(trial.outcome, trial.reason) for trial in record.trials] == [("done", None)] * 2
    for trial in record.trials:
        assert trial.telemetry is not None
        assert trial.telemetry.servers_s
        assert trial.end is not None
        assert trial.foreign_s <= trial.end.usage.foreign_s
    facts = {prepared.system: prepared.facts for prepared in record.prepared}
    assert {one["file system"] for one in facts.values()} == {"fuse.glusterfs"}
    assert facts["mirrored"]["source"] == "10.77.9.1:/mirrored"
