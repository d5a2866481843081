"""A real volume of two nodes, and a real study of it."""

import subprocess
from pathlib import Path

from support.gluster import BRIDGE, NUMBER, STUDIES, needs_gluster, volumes
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


def test_volumes_of_others_stay(tmp_path: Path) -> None:
    """A second pair of the same number is refused, and its end ends nothing of the first."""
    script = str(STUDIES / "glusterfs" / "volume")
    bridge = Path("/sys/class/net") / BRIDGE[0]
    with volumes(tmp_path / "first"):
        up = subprocess.run(
            (script, "up", str(tmp_path / "second"), str(NUMBER)),
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert up.returncode == 1
        assert f"{BRIDGE[1]}.0 is in use by other volumes. Fix: " in up.stderr
        subprocess.run((script, "down", str(tmp_path / "second")), check=True)
        assert bridge.exists()
    assert not bridge.exists()


def test_two_volumes_of_two_nodes_are_compared(tmp_path: Path, engine: Engine) -> None:
    path = STUDIES / "glusterfs.toml"
    text = path.read_text().replace("10.77.9.", f"{BRIDGE[1]}.")
    study = read_study(text, path, engine.describe(), KINDS)
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
    assert facts["mirrored"]["source"] == f"{BRIDGE[1]}.1:/mirrored"
