"""What an ordinary user can mount, in namespaces of his own."""

import os
import signal
from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.looks import find_program
from support.runs import Watcher, go_on, place, plan_of
from support.unprivileged import as_user
from tiltyard.executors.engine import Engine
from tiltyard.host.host import here
from tiltyard.host.ledger import Ledger, recover
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

pytestmark = needs_root
"""Only root can become somebody else."""


def needs(program: str) -> pytest.MarkDecorator:
    """A server that an ordinary user starts."""
    return pytest.mark.skipif(
        find_program(program) is None, reason=f"not installed: apt-get install {program}"
    )


TMPFS = ("tmpfs", {"size": "64M"})
OVERLAY = ("overlay", {})
FUSE_OVERLAY = ("overlay", {"driver": "fuse-overlayfs"})
FUSE2FS = ("loop-image", {"filesystem": "fuse2fs", "backing": {"image": "32M"}})
BINDFS = ("mount", {"type": "fuse.bindfs", "source": "./below"})


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        TMPFS,
        OVERLAY,
        pytest.param(*FUSE_OVERLAY, marks=needs("fuse-overlayfs")),
        pytest.param(*FUSE2FS, marks=needs("fuse2fs")),
        pytest.param(*BINDFS, marks=needs("bindfs")),
    ],
    ids=["tmpfs", "overlay", "fuse-overlayfs", "fuse2fs", "bindfs"],
)
def test_a_study_of_a_user(tmp_path: Path, name: str, settings: dict[str, object]) -> None:
    before = host_state(tmp_path)

    def work(home: Path) -> None:
        (home / "study" / "below").mkdir(parents=True)
        document = {"name": "one", "levels": {"x": "one"}, "kind": name, "settings": settings}
        plan = plan_of((SystemSpec.model_validate(document),), blocks=1)
        folder = place(home / "study", plan)
        run_study(folder, plan, Engine.find(), go_on, Watcher())
        (trial,) = read_run(folder, plan).trials
        assert trial.outcome == "done", trial.reason
        assert not list((home / "study" / "below").iterdir())
        assert not folder.work.exists()

    as_user(work)
    assert_as_before(before, tmp_path)


def test_a_user_can_look_at_what_only_root_may_do() -> None:
    def work(home: Path) -> None:
        with Ledger() as ledger:
            site = Site(root=home, work=home, ledger=ledger)
            ext4 = kind("loop-image").system("ext4", {"filesystem": "ext4"}, site)
            assert any("only root" in problem.text for problem in ext4.problems())
            queue = {**FUSE2FS[1], "scheduler": "none"}
            served = kind("loop-image").system("fuse2fs", queue, site)
            assert any("scheduler is a setting" in found.text for found in served.problems())

    as_user(work)


def test_a_killed_run_of_a_user_leaves_processes_that_restore_ends() -> None:
    def bring_up_and_die(home: Path) -> None:
        ledger = Ledger()
        site = Site(root=home, work=home, ledger=ledger)
        kind("tmpfs").system("t", {"size": "16M"}, site).bring_up()
        os.kill(here().pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def work(home: Path) -> None:
        child = os.fork()
        if child == 0:
            bring_up_and_die(home)
        os.waitpid(child, 0)
        said = recover()
        assert any("ended tiltyard-" in line for line in said), said
        assert not list(home.iterdir())

    as_user(work)
