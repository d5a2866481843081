"""What a trial may claim of caches, on systems that only seem to do what is claimed."""

from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, directory_system, go_on, image_system, place, plan_of
from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.host import caches
from tiltyard.host.caches import drop_caches
from tiltyard.host.place import HERE
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

DIRECT = WorkloadSpec(
    name="direct",
    use="iozone",
    parameters={"file": "1M", "record": "64k", "tests": ["write", "read"], "access": "direct"},
)
READ = WorkloadSpec(
    name="read",
    use="iozone",
    parameters={"file": "1M", "record": "64k", "tests": ["write", "read"], "access": "in-cache"},
)


def run(tmp_path: Path, engine: Engine, workload: WorkloadSpec, system: SystemSpec) -> RunRecord:
    """One trial."""
    plan = plan_of((system,), workloads=(workload,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    return read_run(folder, plan)


@needs_root
def test_direct_is_what_it_says(tmp_path: Path, engine: Engine) -> None:
    (trial,) = run(tmp_path, engine, DIRECT, image_system("ext4", "64M")).trials
    assert trial.outcome == "done", trial.reason
    assert trial.end is not None


@needs_root
def test_a_journal_of_data_buffers_what_is_called_direct(tmp_path: Path, engine: Engine) -> None:
    system = image_system("ext4", "64M", mount=["data=journal"])
    record = run(tmp_path, engine, DIRECT, system)
    assert record.prepared[0].facts["direct I/O"].startswith("none: accepted, but")
    assert record.trials[0].outcome == "failed"
    assert "says (statx) that it does no direct I/O" in (record.trials[0].reason or "")


@needs_root
def test_memory_has_no_direct_access(tmp_path: Path, engine: Engine) -> None:
    settings = {"size": "16M"}
    system = SystemSpec.model_validate(
        {"name": "t", "levels": {"kind": "t"}, "kind": "tmpfs", "settings": settings}
    )
    (trial,) = run(tmp_path, engine, DIRECT, system).trials
    assert trial.outcome == "failed"
    assert "access was declared direct, but" in (trial.reason or "")


@needs_root
def test_caches_are_dropped_before_each_trial(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = caches._counted(HERE)
    system = directory_system("d", tmp_path / "disk")
    settings = {**system.settings, "drop_caches": True}
    twice = READ.model_copy(update={"trials": 2})
    record = run(tmp_path, engine, twice, system.model_copy(update={"settings": settings}))
    assert [trial.outcome for trial in record.trials] == ["done", "done"]
    assert record.prepared[0].facts["caches of the host"] == "dropped before each trial"
    assert all(now >= was + 2 for was, now in zip(before, caches._counted(HERE), strict=True))
    monkeypatch.setattr(caches, "_DROP", str(tmp_path / "nowhere" / "drop_caches"))
    with pytest.raises(HostLacksError, match="only root can drop the caches"):
        drop_caches(HERE)
    (tmp_path / "nowhere").mkdir()
    with pytest.raises(TiltyardError, match="counts no caches dropped"):
        drop_caches(HERE)
