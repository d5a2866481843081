"""The ready profile kernel-build, for real: Debian's source, unpacked and a part of it built.

Needs root and Debian's mirrors: a package of 140 MB, 1.5 GB on each image, some three minutes.
"""

import subprocess
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.looks import find_program
from support.runs import Watcher, go_on
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

STUDY = """\
question = "Which file system builds a kernel faster?"
[factors]
filesystem = ["ext4", "xfs"]
[systems]
backing = {{ image = "4G" }}
[[workload]]
use    = "kernel-build"
source = "{source}"
config = "tinyconfig"
target = "lib/"
"""
LACKING = [name for name in ("make", "gcc", "flex", "bison", "bc") if find_program(name) is None]

pytestmark = [
    pytest.mark.conformance,
    needs_root,
    pytest.mark.skipif(
        bool(LACKING), reason=f"not installed: {' '.join(LACKING)}; make setup-dev installs them"
    ),
]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the newest package; nothing is installed."""
    place = tmp_path_factory.mktemp("linux-source")
    newest = ("apt-cache", "depends", "--important", "linux-source")
    done = subprocess.run(newest, check=True, capture_output=True, text=True)
    package = done.stdout.partition("Depends: ")[2].split()[0]
    subprocess.run(("apt-get", "download", "-qq", package), check=True, cwd=place)
    (archive,) = place.glob("*.deb")
    subprocess.run(("dpkg", "--extract", archive, place / "root"), check=True)
    (found,) = place.glob("root/usr/src/linux-source-*.tar.xz")
    return found


def test_a_part_of_a_kernel_is_built_on_two_file_systems(
    open_folder: StudyFolder, source: Path
) -> None:
    open_folder.study.write_text(STUDY.format(source=source))
    plan = planned(open_folder, Engine.find(), trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    open_folder.plan.unlink()
    write_plan(open_folder, plan)
    run_study(open_folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(open_folder, plan)
    assert [trial.reason for trial in record.trials] == [None, None]
    for trial in record.trials:
        found = {sample.metric: sample.value for sample in trial.samples}
        assert found["time"] > 1
        assert found["user"] > 1
