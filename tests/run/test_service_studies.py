"""The ready studies of programs and servers, carried out for real with little work: one block."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.looks import find_program
from support.runs import Watcher, go_on
from support.said import said_in
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

STUDIES = Path(__file__).resolve().parents[2] / "studies"
SMALL = {
    "postgres-durability": (
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/bin/pgbench"),
        "postgresql-15 postgresql-contrib",
        {'"--scale=10"': '"--scale=1"', '"--time=10"': '"--transactions=20"', '"2G"': '"512M"'},
        {"transactions", "latency"},
    ),
    "redis-fsync": (
        ("redis-server", "redis-benchmark"),
        "redis-server redis-tools",
        {'"100000"': '"200"', '"2G"': '"512M"'},
        {"set", "get", "set_p99"},
    ),
    "web-servers": (
        ("nginx", "lighttpd", "ab"),
        "nginx-light lighttpd apache2-utils",
        {'"50000"': '"500"', '"10000"': '"200"'},
        {"requests", "p99"},
    ),
    "database": (
        ("/usr/lib/postgresql/15/bin/postgres", "mkfs.btrfs"),
        "postgresql-15 btrfs-progs",
        {"scale   = 5": "scale   = 1", "seconds = 6": "seconds = 1", '"2G"': '"512M"'},
        {"transactions", "latency"},
    ),
    "two-commands": (
        ("sort", "rev"),
        "coreutils util-linux",
        {"7 700000": "7 7000", "executions = 8": "executions = 2"},
        {"time"},
    ),
}
"""Study → programs, packages, what is made smaller, metrics."""

pytestmark = needs_root


@pytest.fixture
def folder(tmp_path: Path, state: Path) -> Iterator[StudyFolder]:
    """A study folder; what is trusted is forgotten after."""
    (tmp_path / "study").mkdir()
    yield StudyFolder(tmp_path / "study")
    shutil.rmtree(state / "trusted", ignore_errors=True)


TELLS = """
question = "q"
[factors]
level = [1, 2]
[systems]
directory = "DIRECTORY"
[systems.service]
start = ["sleep", "1000"]
ready = { path = "." }
[[workload]]
use = "program"
env = { WORD = "{secret}" }
command = ["sh", "-c", "echo out $1; echo err $WORD >&2; exit {level}", "sh", "{secret}"]
expect = { exit = [1] }
"""


def test_a_secret_is_in_nothing_that_is_kept(
    folder: StudyFolder, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "system").mkdir()
    folder.study.write_text(TELLS.replace("DIRECTORY", str(tmp_path / "system")))
    plan = planned(folder, engine, trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    good, bad = sorted(read_run(folder, plan).trials, key=lambda trial: trial.outcome)
    assert (good.outcome, bad.outcome) == ("done", "failed")
    says = "sh {secret}: exit code 2, expected 1; it said: err {secret}. Fix: "
    assert says in (bad.reason or "")
    kept = [said_in(path).decode() for path in folder.trials.iterdir()]
    text = next(one for one in kept if "out {secret}" in one)
    assert '"text":"out {secret}\\n"' in text
    assert '"WORD":"{secret}"' in text
    kept.append(folder.journal.read_text())
    drawn = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
    assert [found for text in kept for found in drawn.findall(text)] == []


@pytest.mark.parametrize("name", SMALL)
def test_a_ready_study_is_carried_out(open_folder: StudyFolder, engine: Engine, name: str) -> None:
    folder = open_folder
    programs, packages, smaller, metrics = SMALL[name]
    if not all(map(find_program, programs)):
        pytest.skip(f"not installed: apt-get install {packages}")
    text = (STUDIES / f"{name}.toml").read_text()
    for was, now in smaller.items():
        assert was in text
        text = text.replace(was, now)
    folder.study.write_text(text)
    plan = planned(folder, engine, trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    record = read_run(folder, plan)
    assert {(trial.outcome, trial.reason) for trial in record.trials} == {("done", None)}
    assert {trial.key.system for trial in record.trials} == {one.name for one in plan.systems}
    for trial in record.trials:
        assert metrics <= {sample.metric for sample in trial.samples}
    if not plan.systems[0].settings.get("service"):
        return
    for trial in record.trials:
        assert trial.telemetry is not None
        assert trial.telemetry.servers_s is not None
    assert {turn.facts["service runs as"] for turn in record.prepared} == {"nobody"}
    assert "SHA-256" in record.prepared[0].facts["service program"]
