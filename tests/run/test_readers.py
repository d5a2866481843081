"""What real programs print, read live and imported from what was captured: the same numbers."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from support.devices import MIB, loop_disk, mounted, sh
from support.hosts import needs_root
from support.imports import collected, golden
from support.runs import Watcher, go_on
from support.said import said_in
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported
from tiltyard.importers.sniff import importer_of, read_with
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.wire import OutputEvent, read_events

STUDY = """\
question = "q"
[factors]
shell = {{ a = {{ word = "one" }}, b = {{ word = "two" }} }}
[[workload]]
use = "program"
command = {command}
env = {{ WORD = "{{word}}" }}
executions = 1
{more}
"""
ON_DIRECTORIES = """\
question = "q"
[factors]
directory = {{ a = "{one}", b = "{two}" }}
[[workload]]
use = "fio"
job = "{job}"
"""
FIO = [
    "fio", "--output-format=json", "--name=mail", "--rw=randrw", "--size=1M", "--fsync=16",
    "--filename={dir}/f",
]  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten(state: Path) -> Iterator[None]:
    """What is trusted here is trusted in no other test."""
    yield
    shutil.rmtree(state / "trusted", ignore_errors=True)


def run(tmp_path: Path, engine: Engine, command: list[str], more: str) -> RunRecord:
    """One block of two systems."""
    return carried_out(tmp_path, engine, STUDY.format(command=command, more=more))


def carried_out(tmp_path: Path, engine: Engine, text: str) -> RunRecord:
    """One block of a study."""
    folder = StudyFolder(tmp_path / "study")
    folder.study.parent.mkdir()
    folder.study.write_text(text)
    plan = planned(folder, engine, trust=True)
    short = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, short)
    run_study(folder, short, engine, go_on, Watcher())
    return read_run(folder, short)


def printed(tmp_path: Path, file: str) -> bytes:
    """What the program of a trial printed, from the trial's file."""
    lines = said_in(tmp_path / "study" / file).splitlines()
    outputs = (event.data for event in read_events(lines) if isinstance(event, OutputEvent))
    return max((one.text or "" for one in outputs), key=len).encode()


def by_hand(data: bytes) -> Imported:
    """The same output as a file that somebody saved, imported."""
    found = read_with(importer_of(data, "a", IMPORTERS), data, "a")
    assert collected(found).workloads
    return found


def test_a_job_of_fio_has_the_numbers_that_an_import_finds(tmp_path: Path, engine: Engine) -> None:
    more = 'read = "fio"\nmetrics = { p99 = "sync_latency_p99", wall = "time" }'
    record = run(tmp_path, engine, FIO, more)
    assert [trial.outcome for trial in record.trials] == ["done", "done"]
    for trial in record.trials:
        live = {sample.metric: sample for sample in trial.samples}
        assert live["time"].value > 0
        (workload,) = by_hand(printed(tmp_path, trial.file or "")).workloads
        assert len(workload.measured) > 6
        for one in workload.measured:
            name = "fio_read" if one.metric == "read" else one.metric
            assert live[name].value == one.values[0]
            assert live[name].at == one.at == {"job": "mail"}
            for percentile in {"p50", "p99"} & one.percentiles.keys():
                assert live[f"{name}_{percentile}"].value == one.percentiles[percentile]
        assert live["sync_latency_p99"].value > 0


@needs_root
def test_a_job_file_does_the_same_by_hand(tmp_path: Path, engine: Engine) -> None:
    """On the same mounted file system: what is not a matter of time is equal, job by job."""
    job = Path(str(files("tiltyard.workloads"))) / "ready/jobs/short.fio"
    with loop_disk(tmp_path / "disk.img", 64 * MIB) as node:
        sh("mkfs.ext4", "-q", node)
        with mounted(node, tmp_path / "disk") as disk:
            for name in ("hand", "one", "two"):
                (disk / name).mkdir()
            command = ["fio", "--output-format=json", str(job)]
            done = subprocess.run(command, cwd=disk / "hand", check=True, capture_output=True)
            text = ON_DIRECTORIES.format(one=disk / "one", two=disk / "two", job=job)
            record = carried_out(tmp_path, engine, text)
    (here,) = by_hand(done.stdout).workloads
    for trial in record.trials:
        assert trial.reason is None
        output = printed(tmp_path, trial.file or "")
        assert amounts(output) == amounts(done.stdout)
        (imported,) = by_hand(output).workloads
        live = {(one.metric, str(one.at)): one.value for one in trial.samples}
        read = [(one.metric, one.at, one.values[0]) for one in imported.measured]
        assert [one[:2] for one in read] == [(one.metric, one.at) for one in here.measured]
        assert len(read) > 6
        for metric, at, value in read:
            assert live["fio_read" if metric == "read" else metric, str(at)] == value


def amounts(output: bytes) -> dict[str, list[int]]:
    """Bytes and operations of each job and direction."""
    jobs = json.loads(output)["jobs"]
    return {
        f"{job['jobname']} {way}": [job[way].get("io_bytes", 0), job[way]["total_ios"]]
        for job in jobs
        for way in ("read", "write", "sync")
    }


def test_a_reader_finds_its_file_among_those_that_were_written(
    tmp_path: Path, engine: Engine
) -> None:
    source = golden("pytest-benchmark/three-tests.json")
    command = ["sh", "-c", f"echo running; cp {source} out.json"]
    record = run(tmp_path, engine, command, 'read = "pytest-benchmark"\nfiles = ["out.json"]')
    for trial in record.trials:
        assert trial.outcome == "done", trial.reason
        times = [sample for sample in trial.samples if sample.metric == "pytest-benchmark_time"]
        assert len({str(sample.at) for sample in times}) == 3


def test_what_a_study_names_has_to_be_printed(tmp_path: Path, engine: Engine) -> None:
    command = ["cat", str(golden("pgbench/progress.txt"))]
    more = 'read = "pgbench"\nmetrics = { lag = "schedule_lag" }'
    record = run(tmp_path, engine, command, more)
    for trial in record.trials:
        assert trial.outcome == "failed"
        assert "metrics.lag: execution 1 printed no schedule_lag; it has" in (trial.reason or "")


def test_other_output_is_a_failed_trial_that_quotes_it(tmp_path: Path, engine: Engine) -> None:
    command = ["sh", "-c", 'echo "usage: $WORD"']
    record = run(tmp_path, engine, command, 'read = "fio"')
    reasons = {trial.key.system: trial.reason or "" for trial in record.trials}
    assert {trial.outcome for trial in record.trials} == {"failed"}
    assert "no output of fio" in reasons["a"]
    assert reasons["a"].endswith("its last lines: usage: one")
    assert reasons["b"].endswith("its last lines: usage: two")


def test_fio_is_the_real_one() -> None:
    done = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fio-3")
