"""A host with a kernel and BusyBox and nothing else, no Python in particular."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from support.hosts import needs_root
from support.runs import Watcher, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.host.facts import facts_of_another
from tiltyard.host.host import hosts
from tiltyard.host.place import Place
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

pytestmark = needs_root
HOST: Final = "root@busybox"
SSH: Final = """\
#!/bin/sh
[ "$1" = -V ] && exec echo OpenSSH_9 >&2
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
shift
exec env -i PATH=/bin HOME=/root {chroot} {root} /bin/sh -c "cd /root && $*"
"""
"""Its options and the host are left out."""
STREAM: Final = WorkloadSpec(
    name="stream", use="tcp_stream", parameters={"message": "64k", "seconds": 1}
)
FILES: Final = WorkloadSpec(
    name="files", use="iozone", parameters={"file": "1M", "record": "64k", "tests": ["write"]}
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The root of that host; afterwards nothing of ours is in it."""
    root, busybox, chroot = tmp_path / "root", shutil.which("busybox"), shutil.which("chroot")
    assert busybox is not None
    assert chroot is not None
    (stub := tmp_path / "programs" / "ssh").parent.mkdir()
    stub.write_text(SSH.format(root=root, chroot=chroot))
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    root.mkdir()
    with ExitStack() as mounted:

        def mount(*words: str, at: Path) -> None:
            at.mkdir(exist_ok=True)
            subprocess.run(("mount", *words, at), check=True)
            mounted.callback(subprocess.run, ("umount", at), check=True)

        mount("-t", "tmpfs", "tmpfs", at=root)
        for name in ("proc", "sys", "dev"):
            mount("--bind", f"/{name}", at=root / name)
        for name in ("bin", "root", "srv"):
            (root / name).mkdir()
        shutil.copy(busybox, root / "bin" / "busybox")
        subprocess.run((chroot, root, "/bin/busybox", "--install", "-s", "/bin"), check=True)
        yield root
        hosts.close(here=False)  # Its agent is in there.
        assert not [*(root / "root").iterdir(), *(root / "srv").iterdir()]


def carry_out(folder: Path, workload: WorkloadSpec, kind: str, **settings: object) -> RunRecord:
    spec = {"name": "there", "levels": {"where": "there"}, "kind": kind, "settings": settings}
    plan = plan_of((SystemSpec.model_validate(spec),), workloads=(workload,), blocks=1)
    made = place(folder, plan)
    run_study(made, plan, Engine.find(), go_on, Watcher())
    return read_run(made, plan)


def test_a_directory_of_it_is_measured_watched_and_put_back(root: Path, tmp_path: Path) -> None:
    assert (root / "bin" / "sh").readlink().name == "busybox"
    run = carry_out(tmp_path / "study", FILES, "remote", host=HOST, directory="/srv")
    (trial,) = run.trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.samples
    assert trial.telemetry is not None
    assert trial.telemetry.clock_sources
    assert trial.telemetry.swapped_pages is not None
    (prepared,) = run.prepared
    assert prepared.facts["file system"] == "tmpfs"
    assert prepared.facts["kernel"] == f"Linux {os.uname().release} {os.uname().machine}"


def test_it_is_the_server_of_a_network(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watched as if its kernel were its own."""
    monkeypatch.setattr("tiltyard.host.telemetry.boot_id", lambda: "another boot")
    run = carry_out(tmp_path / "study", STREAM, "hosts", server=HOST, address="127.0.0.1")
    (trial,) = run.trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.telemetry is not None
    (other,) = trial.telemetry.others
    assert other.host == HOST
    assert other.servers_s is not None
    assert other.servers_s > 0.1
    assert other.external_s is not None


@pytest.mark.usefixtures("root")
def test_its_facts_are_those_of_the_kernel() -> None:
    there = Place.over_ssh(HOST)
    facts = facts_of_another(there)
    assert facts["kernel"] == f"Linux {os.uname().release} {os.uname().machine}"
    assert facts["distribution"] == "not available"
    assert not there.has("python3")
    assert there.has("sh")
