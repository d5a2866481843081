"""The system record is in the journal at each start, and changes between starts are told."""

import json
from pathlib import Path

from support.runs import Watcher, directory_system, go_on, place, plan_of
from support.unchained import unchained
from tiltyard.executors.engine import Engine
from tiltyard.run.history import History
from tiltyard.run.journal import read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study


def test_a_change_between_two_starts_is_told(tmp_path: Path) -> None:
    plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    (start,) = History(read_journal(folder.journal)).starts
    assert start.record["kernel"]["release"] in start.host["kernel"]
    lines = [json.loads(line) for line in unchained(folder.journal)]
    lines = [line for line in lines if line["event"]["type"] != "stopped"]
    lines[0]["event"]["record"]["kernel"]["release"] = "5.0"
    folder.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    told = f'kernel: release was "5.0" and is "{start.record["kernel"]["release"]}"'
    assert f"The host has changed since the last start: {told}" in watcher.told
    run = read_run(folder, plan)
    assert f"Start 2: {told}" in run.host_changes
    (prepared, *_) = run.prepared
    assert "disk under test" in prepared.facts or not run.record["disks"]


def test_a_journal_of_an_older_tiltyard_is_read(tmp_path: Path) -> None:
    plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    lines = [json.loads(line) for line in unchained(folder.journal)]
    del lines[0]["event"]["record"]
    folder.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_run(folder, plan).record == {}


def test_a_journal_that_names_a_library_of_its_time_is_read(tmp_path: Path) -> None:
    plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    lines = [json.loads(line) for line in unchained(folder.journal)]
    lines = [line for line in lines if line["event"]["type"] != "stopped"]
    lines[0]["event"]["record"]["versions"]["statsmodels"] = "0.15.0"
    folder.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_run(folder, plan).record["versions"]["statsmodels"] == "0.15.0"
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert any('versions: statsmodels was "0.15.0" and is' in line for line in watcher.told)
