"""Files that are exchanged between two parts of a run: their turns have failed, and name them."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.looks import find_program
from support.runs import Watcher, go_on
from tiltyard.app.freeze import planned
from tiltyard.cli.check import check
from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import compare
from tiltyard.cli.measuring import Measuring
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.ownership import name_of
from tiltyard.plan.model import Plan
from tiltyard.plan.sessions import session_plan
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

STUDY = """
question = "q"
[factors]
at = ["1", "2"]
SYSTEMS
[[workload]]
use = "program"
env = { AT = "{at}" }
command = COMMAND
[conditions]
isolate = false
"""
GUESTS = """
question = "q"
[factors]
filesystem = ["ext4", "tmpfs"]
[systems]
kernel = "./kernel"
backing = { image = "64M" }
memory = "192M"
[[workload]]
use = "random"
file = "1M"
operations = 10
[conditions]
isolate = false
"""


class Stopping(Watcher):
    """Ends a run after its first block."""

    def block_started(self, block: int, of: int) -> None:
        if block == 2:
            raise InterruptedRunError("enough")


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    (tmp_path / "study").mkdir()
    return StudyFolder(tmp_path / "study")


def planned_as(folder: StudyFolder, command: str, systems: str = "") -> Plan:
    return plan_of(folder, STUDY.replace("SYSTEMS", systems).replace("COMMAND", command))


def plan_of(folder: StudyFolder, text: str) -> Plan:
    folder.study.write_text(text.replace("HERE", str(folder.root)))
    whole = planned(folder, Engine.find(), trust=True)
    plan = whole.model_copy(update={"blocks": whole.blocks[:2], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    return plan


def in_two_parts(folder: StudyFolder, plan: Plan, exchange: Callable[[], object]) -> set[str]:
    """Why trials of the second part failed; the first part has none of them."""
    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, Engine.find(), go_on, Stopping())
    exchange()
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    trials = read_run(folder, plan).trials
    assert [one.outcome for one in trials if one.key.block == 1] == ["done"] * 2
    assert len(trials) == 4
    return {one.reason or "" for one in trials if one.key.block == 2}


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ntrue # {path}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "command",
    [
        '["HERE/it"]',
        '["nice", "HERE/it"]',
        '["sh", "HERE/it.sh"]',
        '["sh", "-c", "true; HERE/it --level={at}"]',
        '["HERE/always"]\nsetup = ["HERE/it"]',
        '["HERE/always"]\nturn = { cleanup = [["true"], ["HERE/it"]] }',
        '["HERE/always"]\nservers = [{ command = ["sh", "-c", "HERE/it; sleep 100"] }]',
        '["./it"]\nwhere = "HERE"',
        '["HERE/always"]\nstdin = "it"',
    ],
)
def test_programs_and_scripts(folder: StudyFolder, command: str) -> None:
    it = program(folder.root / ("it.sh" if "it.sh" in command else "it"))
    program(folder.root / "always")
    plan = planned_as(folder, command)
    (why,) = in_two_parts(folder, plan, lambda: it.write_text("#!/bin/sh\ntrue # other\n"))
    assert why.startswith(f"{it} changed since the run began: ")


def test_a_name_that_the_search_path_finds_elsewhere(
    folder: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (program(tmp_path / name / "measured") for name in ("a", "b"))
    monkeypatch.setenv("PATH", f"{first.parent}:{os.environ['PATH']}")
    plan = planned_as(folder, '["measured"]')
    found = in_two_parts(
        folder, plan, lambda: monkeypatch.setenv("PATH", f"{second.parent}:{os.environ['PATH']}")
    )
    named = {why.partition(":")[0] for why in found}
    assert named == {f"measured of {name} changed since the run began" for name in "12"}


@needs_root
def test_a_service(folder: StudyFolder) -> None:
    server = shutil.copy(sys.executable, folder.root / "server")
    systems = f"""
[systems.service]
user = "{name_of(os.geteuid())}"
start = ["HERE/server", "-c", "import time; time.sleep(1000)"]
ready = {{ command = ["true"] }}
"""
    plan = planned_as(folder, '["true"]', systems)

    def exchange() -> None:
        with server.open("ab") as file:
            file.write(b"\0")

    (why,) = in_two_parts(folder, plan, exchange)
    assert why.startswith(f"{server} changed since the run began: ")


@needs_root
def test_a_tuning_profile_and_what_it_includes(folder: StudyFolder) -> None:
    profile, inner = folder.root / "mine.toml", folder.root / "inner.toml"
    profile.write_text('about = "x"\ninclude = ["./inner.toml"]\n')
    inner.write_text('about = "x"\n[priority]\nnice = 3\n')
    plan = planned_as(folder, '["true"]', '[systems]\ntuning = ["./mine.toml"]\n')
    (why,) = in_two_parts(
        folder, plan, lambda: inner.write_text('about = "x"\n[priority]\nnice = 4\n')
    )
    assert why.startswith("./mine.toml changed since the run began: ")


@pytest.mark.skipif(find_program("linux.uml") is None, reason="apt-get install user-mode-linux")
@needs_root
def test_a_kernel(folder: StudyFolder) -> None:
    kernel = shutil.copy(str(find_program("linux.uml")), folder.root / "kernel")
    plan = plan_of(folder, GUESTS)

    def exchange() -> None:
        with kernel.open("ab") as file:
            file.write(b"\0")

    (why,) = in_two_parts(folder, plan, exchange)
    assert why.startswith(f"{kernel} changed since the run began: ")


def test_a_session_holds_what_it_uses_against_earlier_sessions(folder: StudyFolder) -> None:
    it = program(folder.root / "it")
    plan = planned_as(folder, '["HERE/it"]')
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    it.write_text("#!/bin/sh\ntrue # other\n")
    own = folder.session(2)
    own.root.mkdir(parents=True)
    write_plan(own, second := session_plan(plan, 2))
    run_study(own, second, Engine.find(), go_on, Watcher())
    reasons = {trial.reason or "" for trial in read_run(own, second).trials}
    assert all(why.startswith(f"{it} changed since the run began: ") for why in reasons)


@pytest.mark.parametrize("how", ["programs", "scripts", "settings"])
def test_what_is_compared_and_equal_is_told_before_anything_runs(
    folder: StudyFolder, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    for name in ("old", "new"):
        (folder.root / name).write_text("#!/bin/sh\ntrue\n")
        (folder.root / name).chmod(0o755)
    command = '["sh", "{at}"]' if how == "scripts" else '["{at}"]'
    text = STUDY.replace("SYSTEMS", "").replace("COMMAND", command)
    if how == "settings":
        text = GUESTS.replace('filesystem = ["ext4", "tmpfs"]', 'kernel = ["1", "2"]')
        text = text.replace('kernel = "./kernel"', 'filesystem = "ext4"')
    folder.study.write_text(text.replace('["1", "2"]', '["./old", "./new"]'))
    old, new = folder.root / "old", folder.root / "new"
    check(folder.root, rehearse=False)
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert re.search(rf"Equal {old} of .+ and {new} of .+ are the same, SHA-256 ", said)
    new.write_text("#!/bin/sh\ntrue # other\n")
    check(folder.root, rehearse=False)
    assert "Equal" not in capsys.readouterr().out


def test_equal_commands_are_told_when_they_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        shutil.copy("/bin/true", tmp_path / name)
    compare(commands=Commands(command=("./old", "./new")), measuring=Measuring(blocks=6))
    told = capsys.readouterr().err
    assert re.search(r"Equal +\S+/old of \S+ and \S+/new of \S+ are the same", told)
    assert told.index("Equal") < told.index("block 1/")
