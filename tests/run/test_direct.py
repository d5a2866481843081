"""Access that is declared direct is refused where it is not, whatever open(2) accepts."""

from pathlib import Path

import pytest

from support.hosts import needs_root
from support.looks import find_program
from support.runs import Watcher, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

pytestmark = needs_root

DIRECT = WorkloadSpec(
    name="direct",
    use="iozone",
    parameters={"file": "1M", "record": "64k", "access": "direct", "tests": ["write", "read"]},
)
IMAGE = {"backing": {"image": "32M"}}
needs_fuse2fs = pytest.mark.skipif(
    find_program("fuse2fs") is None, reason="not installed: apt-get install fuse2fs"
)


@pytest.mark.parametrize(
    ("kind", "settings", "reason"),
    [
        ("loop-image", {"filesystem": "ext4"}, None),
        ("loop-image", {"filesystem": "ext4", "mount": ["data=journal"]}, "does no direct I/O"),
        ("tmpfs", {}, "no block device whose counters could confirm"),
        ("overlay", {}, "no block device whose counters could confirm"),
        pytest.param(
            "loop-image",
            {"filesystem": "fuse2fs"},
            "the device delivered 0 of ",
            marks=needs_fuse2fs,
        ),
    ],
    ids=["ext4", "data=journal", "tmpfs", "overlay", "fuse2fs"],
)
def test_direct(
    tmp_path: Path, engine: Engine, kind: str, settings: dict[str, object], reason: str | None
) -> None:
    settings = {**IMAGE, **settings} if kind == "loop-image" else settings
    document = {"name": "one", "levels": {"x": "one"}, "kind": kind, "settings": settings}
    plan = plan_of((SystemSpec.model_validate(document),), workloads=(DIRECT,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    (trial,) = read_run(folder, plan).trials
    if reason is None:
        assert trial.outcome == "done", trial.reason
    else:
        assert (trial.outcome, reason in (trial.reason or "")) == ("failed", True), trial.reason
