"""Many clients of a shared file system: GlusterFS, each client behind a link of a known rate."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.gluster import BRIDGE, needs_gluster, volumes
from support.runs import Watcher, directory_system, go_on, place, plan_of
from support.star import ETHERNET, MTU, SEGMENT, Star, star
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.clients import with_stonewalls
from tiltyard.study.model import ClientSpec, WorkloadSpec

NAMES = ("c1", "c2", "c3", "c4")
BITS_PER_S = 40_000_000
SUM = len(NAMES) * BITS_PER_S / 8 * SEGMENT / (MTU + ETHERNET)
"""What the links carry of the bytes of connections, in B/s."""

pytestmark = [pytest.mark.conformance, *needs_gluster]


@contextmanager
def in_memory(folder: Path) -> Iterator[Path]:
    """What the nodes keep is on no disk: the links alone are to be slow."""
    folder.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", str(folder)), check=True)
    try:
        yield folder
    finally:
        subprocess.run(("umount", str(folder)), check=True)


@contextmanager
def mounts(hosts: Star, folder: Path) -> Iterator[list[Path]]:
    """The volume as each client has it: what serves it there speaks through the client's link."""
    made: list[Path] = []
    try:
        for name in NAMES:
            target = folder / name
            target.mkdir()
            of = (f"{BRIDGE[1]}.1:/spread", str(target))
            options = ("-o", "log-file=/dev/null")
            mount = (*hosts.inside(name), "mount", "-t", "glusterfs", *options, *of)
            subprocess.run(mount, check=True, capture_output=True)
            made.append(target)
        yield made
    finally:
        for target in made:
            subprocess.run(("umount", str(target)), check=True)


def test_four_clients_write_the_sum_of_their_links(tmp_path: Path) -> None:
    engine = Engine.find()
    card = engine.describe().workload("stream")
    assert card is not None
    with (
        in_memory(tmp_path / "memory") as memory,
        volumes(memory / "gluster"),
        star(tmp_path / "star", NAMES, dict.fromkeys(NAMES, BITS_PER_S), BRIDGE) as hosts,
        mounts(hosts, tmp_path) as targets,
    ):
        parameters = {"file": "64M", "block": "128k", "phases": ["write"], "include_fsync": True}
        clients = tuple(ClientSpec(directory=str(target)) for target in targets)
        workload = WorkloadSpec(name="stream", use="stream", parameters=parameters, clients=clients)
        plan = plan_of((directory_system("d", targets[0]),), workloads=(workload,), blocks=1)
        update = {"metrics": tuple(with_stonewalls(card.metrics)), "grid": tuple(card.grid)}
        planned = plan.workloads[0].model_copy(update=update)
        plan = plan.model_copy(update={"workloads": (planned,)})
        folder = place(tmp_path / "study", plan)
        run_study(folder, plan, engine, go_on, Watcher())
        (trial,) = read_run(folder, plan).trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.end is not None
    span_s = max(one.regions[0].began_s + one.regions[0].elapsed_s for one in trial.clients)
    assert trial.end.bytes == len(NAMES) * 64 * 2**20
    assert trial.end.bytes / span_s == pytest.approx(SUM, rel=0.02)
