"""A real volume of two nodes, and a real study of it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import host_state, needs_root
from support.patience import PATIENCE_S
from support.runs import Watcher, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.host.packages import find_program
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.load import read_study
from tiltyard.study.model import WorkloadSpec
from tiltyard.systems import KINDS

STUDIES = Path(__file__).resolve().parents[2] / "studies"
# Servers are charged in ticks of 10 ms, so there must be work for many of them.
SMALL = WorkloadSpec(
    name="postmark", use="postmark", parameters={"files": 200, "transactions": 300}
)
KEPT = (Path("/var/lib/glusterd"), Path("/var/log/glusterfs"))

pytestmark = [
    needs_root,
    pytest.mark.skipif(
        not all(map(find_program, ("glusterd", "mount.glusterfs"))),
        reason="not installed: apt-get install glusterfs-server glusterfs-client",
    ),
]


def of_the_host() -> list[Path]:
    """What the host's own GlusterFS keeps."""
    return sorted(path for kept in KEPT for path in kept.rglob("*"))


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[None]:
    """Up for one test; afterwards the host is as it was."""
    kept = of_the_host()
    home = str(tmp_path / "nodes")
    script = str(STUDIES / "glusterfs" / "volume")
    try:
        subprocess.run((script, "up", home), check=True, capture_output=True, timeout=PATIENCE_S)
        yield
    finally:
        subprocess.run((script, "down", home), check=True, capture_output=True, timeout=PATIENCE_S)
    assert not (tmp_path / "nodes").exists()
    assert of_the_host() == kept
    assert str(tmp_path) not in host_state(tmp_path)


@pytest.mark.usefixtures("volumes")
def test_two_volumes_of_two_nodes_are_compared(tmp_path: Path, engine: Engine) -> None:
    path = STUDIES / "glusterfs.toml"
    study = read_study(path.read_text(), path, engine.describe(), KINDS)
    plan = plan_of(study.systems, workloads=(SMALL,), blocks=1)
    folder = place(tmp_path / "study", plan)
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
