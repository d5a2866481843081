"""The system record is in the journal at each start, and changes between starts are told."""

import json
import os
from pathlib import Path

import pytest

from support.chained import chained, unchained
from support.runs import NOISE_LIMITS, Watcher, directory_system, go_on, place, plan_of
from support.sshd import sshd
from tiltyard.executors.engine import Engine
from tiltyard.run import reference_run
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
    folder.journal.write_bytes(chained(json.dumps(line).encode() for line in lines))
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    told = f'kernel: release was "5.0" and is "{start.record["kernel"]["release"]}"'
    assert f"The host has changed since the last start: {told}" in watcher.told
    run = read_run(folder, plan)
    assert f"Start 2: {told}" in run.host_changes
    (prepared, *_) = run.prepared
    assert "disk under test" in prepared.facts or not run.record["disks"]


def test_a_change_of_another_host_is_told_and_none_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference run, too, is of the other one only."""
    monkeypatch.setattr(reference_run, "_WORTH_S", 0.0)
    with sshd(tmp_path / "server") as server:
        (server.home / "disk").mkdir()
        settings = {"directory": "disk", "host": server.far, "ssh_options": server.options}
        here = directory_system("there", tmp_path / "here")
        there = here.model_copy(update={"kind": "remote", "settings": settings})
        plan = plan_of(
            (there,), noise_limits=NOISE_LIMITS.model_copy(update={"disturbed": "keep"}), blocks=1
        )
        folder = place(tmp_path / "study", plan)
        run_study(folder, plan, Engine.find(), go_on, Watcher())
        assert {run.host for run in History.read(folder.journal).reference_runs} == {
            str(server.far)
        }
        lines = [json.loads(line) for line in unchained(folder.journal)]
        lines = [line for line in lines if line["event"]["type"] in ("started", "other_host")]
        for line in lines:
            line["event"]["record"]["kernel"]["release"] = "5.0"
        folder.journal.write_bytes(chained(json.dumps(line).encode() for line in lines))
        for file in folder.trials.iterdir():
            file.unlink()
        watcher = Watcher()
        run_study(folder, plan, Engine.find(), go_on, watcher)
    told = f'kernel: release was "5.0" and is "{os.uname().release}"'
    assert [note for note in watcher.told if told in note] == [f"{server.far} has changed: {told}"]
    assert f"{server.far} in start 2: {told}" in read_run(folder, plan).host_changes
    assert not [one for one in read_run(folder, plan).host_changes if one.startswith("Start 2")]


def test_a_journal_that_names_a_library_of_its_time_is_read(tmp_path: Path) -> None:
    plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    lines = [json.loads(line) for line in unchained(folder.journal)]
    lines = [line for line in lines if line["event"]["type"] != "stopped"]
    lines[0]["event"]["record"]["versions"]["statsmodels"] = "0.15.0"
    folder.journal.write_bytes(chained(json.dumps(line).encode() for line in lines))
    assert read_run(folder, plan).record["versions"]["statsmodels"] == "0.15.0"
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert any('versions: statsmodels was "0.15.0" and is' in line for line in watcher.told)
