"""Programs, really executed: read, compared with each other, and ended with the run."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import PATIENCE_S, wait_until
from support.runs import NOISE_LIMITS, Watcher, go_on
from support.snapshots import put_back_by_itself
from tiltyard.app.freeze import frozen, open_study, planned
from tiltyard.app.pilot import run_pilot
from tiltyard.errors import RefusedError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.executors.runner import Runner
from tiltyard.folder import StudyFolder
from tiltyard.importers import patterns
from tiltyard.plan.model import Plan
from tiltyard.plan.store import write_plan
from tiltyard.run.journal import ReferenceRun, TrialFinished, TrialStarted, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.run.stream import read_stream
from tiltyard.run.trust import UntrustedInputs
from tiltyard.wire import Execution, ExecutionEvent
from tiltyard.workloads.catalogue import catalogue_of

STUDY = """\
question = "q"
[factors]
build = { old = { path = "bin/old", rate = 4 }, new = { path = "bin/new", rate = "5" } }
[[workload]]
use = "program"
command = ["{path}", "{rate}"]
executions = 2
METRICS
"""
METRICS = """\
[workload.metrics]
wall = "time"
tps = { regex = 'tps = ([0-9]+)', unit = "1/s", better = "higher" }
"""


@pytest.fixture
def folder(tmp_path: Path, state: Path) -> Iterator[StudyFolder]:
    """Two builds that print the rate that they are told; what is trusted is forgotten after."""
    root = tmp_path / "study"
    (root / "bin").mkdir(parents=True)
    for name in ("old", "new"):
        program(root / f"bin/{name}", 'echo "tps = $1"')
    yield StudyFolder(root)
    shutil.rmtree(state / "trusted", ignore_errors=True)


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def plan_of(folder: StudyFolder, engine: Engine, text: str = METRICS, blocks: int = 2) -> Plan:
    """Two blocks of the study, whatever else goes on here."""
    folder.study.write_text(STUDY.replace("METRICS", text))
    plan = planned(folder, engine, trust=True)
    short = plan.model_copy(
        update={"blocks": plan.blocks[:blocks], "spares": (), "noise_limits": None}
    )
    folder.plan.unlink()
    write_plan(folder, short)
    return short


def run(folder: StudyFolder, engine: Engine, plan: Plan) -> RunRecord:
    run_study(folder, plan, engine, go_on, Watcher())
    return read_run(folder, plan)


def values(record: RunRecord, metric: str) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {}
    for trial in record.trials:
        of_trial = {sample.value for sample in trial.samples if sample.metric == metric}
        found.setdefault(trial.key.system, set()).update(of_trial)
    return found


def reasons(record: RunRecord) -> set[str | None]:
    return {trial.reason for trial in record.trials}


@pytest.mark.parametrize(
    ("more", "runners"), [("", 2), ('[[workload]]\nuse = "random"\nfile = "1M"', 4)]
)
def test_a_runner_stays_where_only_programs_are_measured(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch, more: str, runners: int
) -> None:
    """What the engine executes itself meets another layout of memory in each block.

    Two systems alternate, each with a runner of its own.
    """
    started: list[Runner] = []
    begin = Runner.__init__

    def count(self: Runner, *args: object, **named: object) -> None:
        started.append(self)
        begin(self, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "__init__", count)
    record = run(folder, engine, plan_of(folder, engine, f"{METRICS}{more}"))
    assert {trial.outcome for trial in record.trials} == {"done"}
    assert len(started) == runners


def test_two_builds_are_measured_and_read(folder: StudyFolder, engine: Engine) -> None:
    record = run(folder, engine, plan_of(folder, engine))
    assert [trial.outcome for trial in record.trials] == ["done"] * 4
    assert values(record, "tps") == {"old": {4.0}, "new": {5.0}}
    assert all(min(times) > 0 for times in values(record, "time").values())
    facts = {turn.system: turn.facts["path"] for turn in record.prepared}
    assert facts["old"].startswith(f"{folder.root}/bin/old, SHA-256 ")
    assert not list(folder.root.glob("work*"))


def test_paths_begin_where_the_study_was_written(folder: StudyFolder, engine: Engine) -> None:
    beside = folder.root / "bench.toml"
    beside.write_text(STUDY.replace("METRICS", METRICS))
    placed = open_study(beside, None)
    plan = planned(placed, engine, trust=True)
    assert plan.paths_from == ".."
    again = frozen(placed.study, engine, None, StudyFolder(placed.root))
    assert again.paths_from == ".."
    short = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    placed.plan.unlink()
    write_plan(placed, short)
    record = run(StudyFolder(placed.root), engine, short)
    assert values(record, "tps") == {"old": {4.0}, "new": {5.0}}


def test_output_without_the_number_fails_the_trial(folder: StudyFolder, engine: Engine) -> None:
    program(folder.root / "bin/new", "echo transactions: none")
    record = run(folder, engine, plan_of(folder, engine))
    failed = [trial for trial in record.trials if trial.outcome == "failed"]
    assert {trial.key.system for trial in failed} == {"new"}
    assert all("tps = " in (trial.reason or "") for trial in failed)
    assert all("transactions: none" in (trial.reason or "") for trial in failed)


@pytest.mark.parametrize(
    ("prints", "where", "told"),
    [
        ("""printf '{"tps": 1%05000d}' 1""", 'json = "$.tps"', 'is "10000'),
        ("""printf 'tps\\n4%0140000d\\n' 1""", 'csv = "tps"', "line 2: field larger than"),
        ("""printf '"%0140000d' 1; printf '\\ntps\\n4\\n'""", 'csv = "tps"', None),
        ("printf 'tps = %0140000d' 1", "regex = 'tps = ([0-9]+)'", 'is "0000'),
        ("""printf '{"tps": 1e999}'""", 'json = "$.tps"', 'is "inf"'),
        ("printf '%*s' 9000 '' | tr ' ' '['", 'json = "$.tps"', "JSON"),
    ],
)
def test_output_that_no_program_prints_fails_no_more_than_its_own_trial(
    folder: StudyFolder, engine: Engine, prints: str, where: str, told: str | None
) -> None:
    """Neither the other trials nor the run, and it reads the same afterwards."""
    sound = where.partition(" ")[0]
    ordinary = {"json": """'{"tps": 4}'""", "csv": "'tps\\n4\\n'", "regex": "'tps = 4\\n'"}[sound]
    program(folder.root / "bin/old", f"printf {ordinary}")
    program(folder.root / "bin/new", prints)
    metrics = f'[workload.metrics]\ntps = {{ {where}, unit = "1/s", better = "higher" }}'
    record = run(folder, engine, plan_of(folder, engine, metrics))
    assert [trial.outcome for trial in record.trials if trial.key.system == "old"] == ["done"] * 2
    new = [trial for trial in record.trials if trial.key.system == "new"]
    if told is None:
        assert {trial.outcome for trial in new} == {"done"}
    else:
        assert {trial.outcome for trial in new} == {"failed"}
        assert all(told in (trial.reason or "") for trial in new), reasons(record)


def test_what_prints_something_else_has_failed(folder: StudyFolder, engine: Engine) -> None:
    plan = plan_of(folder, engine, 'expect = { stdout = "same" }')
    record = run(folder, engine, plan)
    first = record.trials[0].key.system
    was, is_ = ("4", "5") if first == "old" else ("5", "4")
    assert reasons(record) == {
        None,
        f'it printed something else than block 1\'s {first}: line 1 was "tps = {was}" and is '
        f'"tps = {is_}"',
    }
    assert {trial.key.system for trial in record.trials if trial.outcome == "done"} == {first}


def test_an_expression_that_takes_too_long_fails_the_trial_and_no_report(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new"):
        program(folder.root / f"bin/{name}", f"echo {'a' * 24}; echo 'tps = 4'")
    slow = METRICS.replace("tps = ([0-9]+)", "(?:a|aa)+!|tps = ([0-9]+)")
    plan = plan_of(folder, engine, slow)
    assert [trial.outcome for trial in run(folder, engine, plan).trials] == ["done"] * 4
    monkeypatch.setattr(patterns, "_spent", set())
    monkeypatch.setattr(patterns, "LIMIT_S", 1e-4)
    line = 1 + folder.study.read_text().splitlines().index(slow.splitlines()[2])
    told = f"{folder.study}:{line}: workload.metrics.tps.regex: stdout of execution 1: "
    with pytest.raises(UsageError, match=re.escape(told)) as raised:
        read_run(folder, plan)
    assert "'(?:a|aa)+!|tps = ([0-9]+)' takes more than" in str(raised.value)
    for path in (folder.journal, *folder.trials.iterdir()):
        path.unlink()
    failed = run(folder, engine, plan)
    assert {trial.outcome for trial in failed.trials} == {"failed"}
    assert all((trial.reason or "").startswith(told) for trial in failed.trials)


COMPARED = """\
read was < "$1"; read is < "$2"
test "${was% *}" = "${is% *}" && exit
echo "was $was, is $is"; exit 3
"""
"""Whether all but the last word is the same."""


@pytest.mark.parametrize(("was", "same"), [("sum 12 in", True), ("sum 13 in", False)])
def test_outputs_are_compared_by_a_command_of_the_study(
    folder: StudyFolder, engine: Engine, was: str, same: bool
) -> None:
    program(folder.root / "bin/old", 'echo "sum 12 in $(date +%N)"')
    program(folder.root / "bin/new", f'echo "{was} $(date +%N)"')
    program(folder.root / "bin/about", COMPARED)
    command = f'expect = {{ compare = ["{folder.root}/bin/about", "{{expected}}", "{{output}}"] }}'
    record = run(folder, engine, plan_of(folder, engine, command))
    first = record.trials[0].key.system
    done = {trial.key.system for trial in record.trials if trial.outcome == "done"}
    assert done == ({"old", "new"} if same else {first})
    failed = {trial.reason or "" for trial in record.trials if trial.outcome == "failed"}
    assert all(": exit code 3; it said: was sum 1" in reason for reason in failed)
    verdicts = [
        (execution.number, execution.exit)
        for path in sorted(folder.trials.iterdir())
        for execution in compared(path)
    ]
    # Two executions a trial, each other than the first one of the study; none of that one.
    assert len(verdicts) == (7 if same else 5)
    assert {code for _, code in verdicts} == ({0} if same else {0, 3})


def compared(path: Path) -> list[Execution]:
    events = read_stream(path.read_bytes()).events
    executions = (event.data for event in events if isinstance(event, ExecutionEvent))
    return [one for one in executions if one.step == "compare"]


def test_a_command_that_compares_needs_trust_and_is_told_by_its_key(
    folder: StudyFolder, engine: Engine
) -> None:
    text = 'expect = { exit = "any", compare = ["cmp", "{expected}", "{output}"] }\nstdout = "o"'
    folder.study.write_text(STUDY.replace("METRICS", text))
    plan = frozen(folder.study, engine, None, folder)
    brought = UntrustedInputs.of(plan, catalogue_of(engine, folder), folder).items
    told = {item.key: item.what for item in brought}
    assert told["expect.compare"] == "compares by cmp '{expected}' '{output}'"
    assert told["stdout"] == "writes o"
    assert "expect.exit" not in told


def test_an_input_that_is_edited_is_another_workload(folder: StudyFolder, engine: Engine) -> None:
    (folder.root / "in.txt").write_text("tps = 3\n")
    for name in ("old", "new"):
        program(folder.root / f"bin/{name}", f"cat; echo 'tps = 9' >> {folder.root}/in.txt")
    record = run(folder, engine, plan_of(folder, engine, f'stdin = "in.txt"\n{METRICS}'))
    # Both begin their trials of a block before anything is executed.
    outcomes = [trial.outcome for trial in record.trials]
    assert outcomes == ["done", "done", "failed", "failed"]
    changed = f"{folder.root}/in.txt changed since the run began: "
    assert all((trial.reason or "").startswith(changed) for trial in record.trials[2:])


def test_a_trial_that_is_adopted_is_judged_and_read_the_same(
    folder: StudyFolder, engine: Engine
) -> None:
    plan = plan_of(folder, engine, f'expect = {{ stdout = "same" }}\n{METRICS}')
    before = run(folder, engine, plan)
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if b'"trial_finished"' in line][1]
    folder.journal.write_bytes(b"".join(lines[:second]))
    for path in folder.trials.iterdir():
        if path.name not in {Path(trial.file).name for trial in before.trials[:2]}:
            path.unlink()
    after = run(folder, engine, plan)
    for was, now in zip(before.trials[:2], after.trials[:2], strict=True):
        assert (was.key, was.outcome, was.reason) == (now.key, now.outcome, now.reason)
        assert was.samples == now.samples


def test_a_build_that_is_made_again_is_another_program(folder: StudyFolder, engine: Engine) -> None:
    built_again = (
        'test "$(cat {0}/count 2>/dev/null)" && echo "#" >> {0}/bin/new\necho x >> {0}/count\n'
    )
    program(folder.root / "bin/old", built_again.format(folder.root) + 'echo "tps = $1"')
    record = run(folder, engine, plan_of(folder, engine, blocks=3))
    failed = {trial.reason or "" for trial in record.trials if trial.outcome == "failed"}
    assert failed
    assert all(
        f"{folder.root}/bin/new changed since the run began: " in reason for reason in failed
    )
    assert {trial.key.system for trial in record.trials if trial.outcome == "failed"} == {"new"}


def test_nothing_is_executed_that_is_not_trusted(folder: StudyFolder, engine: Engine) -> None:
    program(folder.root / "bin/old", f"touch {folder.root}/executed")
    folder.study.write_text(STUDY.replace("METRICS", 'setup = [["touch", "set"], ["{path}"]]'))
    with pytest.raises(RefusedError, match="this study brings programs"):
        planned(folder, engine)
    assert not folder.plan.exists()
    assert not (folder.root / "executed").exists()


@pytest.mark.parametrize("worth_s", [0.0, 1e9])
def test_short_trials_have_little_around_them(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch, worth_s: float
) -> None:
    monkeypatch.setattr("tiltyard.run.reference_run._WORTH_S", worth_s)
    monkeypatch.setattr("tiltyard.run.context._BRIEF_S", 600.0)
    monkeypatch.setattr("tiltyard.run.settle._LIMIT_S", 2.0)
    kept = NOISE_LIMITS.model_copy(update={"disturbed": "keep"})
    plan = plan_of(folder, engine).model_copy(update={"noise_limits": kept})
    folder.plan.unlink()
    write_plan(folder, plan)
    trials = run(folder, engine, plan).trials
    own = [trial.end and trial.end.usage.foreign_s is not None for trial in trials]
    assert not any(own), "of what alternates the lab counts it, for both"
    assert all(trial.foreign_s is not None for trial in trials)
    events = [entry.event for entry in read_journal(folder.journal)]
    assert (sum(isinstance(event, ReferenceRun) for event in events) == 4) == (worth_s == 0.0)
    settled = [event.settled for event in events if isinstance(event, TrialFinished)]
    first, other, *later = [one for one in settled if one]
    assert len(later) == len(settled) - 2
    assert first.elapsed_s == other.elapsed_s >= 0.05
    assert {one.waiting_share for one in later} == {None}


def test_what_is_written_is_waited_for(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiltyard.run.context._BRIEF_S", 600.0)
    monkeypatch.setattr("tiltyard.run.settle._LIMIT_S", 2.0)
    for name in ("old", "new"):
        program(folder.root / f"bin/{name}", "dd if=/dev/zero of=file bs=1M count=3 2> /dev/null")
    run(folder, engine, plan_of(folder, engine, "", blocks=1))
    events = [entry.event for entry in read_journal(folder.journal)]
    settled = [e.settled for e in events if isinstance(e, TrialFinished)]
    assert all(one and one.elapsed_s >= 0.05 for one in settled)
    written = [e.written_bytes for e in events if isinstance(e, TrialFinished)]
    assert min(filter(None, written)) >= 3 * 2**20


def test_a_pilot_sizes_the_executions_of_a_trial(folder: StudyFolder, engine: Engine) -> None:
    left_open = STUDY.replace("executions = 2\n", "").replace("METRICS", "")
    folder.study.write_text(left_open)
    (remark,) = [
        one for one in run_pilot(folder, engine, Watcher(), trust=True) if "deviate" in one
    ]
    (workload,) = planned(folder, engine, trust=True).workloads
    assert workload.program is not None
    number = workload.program["executions"]
    assert isinstance(number, int)
    assert number >= 1
    assert "at_least" not in workload.program
    assert remark.startswith(f"program: {number} executions in each trial")
    folder.plan.unlink()
    folder.study.write_text(left_open + "at_least = 0.3\n")
    with pytest.raises(UsageError, match="did not run program as it is in the study"):
        planned(folder, engine, trust=True)


@pytest.mark.parametrize("where", ["command", "setup", "prepare"])
def test_a_killed_lab_leaves_no_program(
    folder: StudyFolder, engine: Engine, state: Path, where: str
) -> None:
    pids = folder.root / "pids"
    program(folder.root / "bin/hang", f"echo $$ >> {pids}\nsetsid sleep 600 &\nsleep 600")
    hangs = f'{where} = ["{folder.root}/bin/hang"]'
    command = 'command = ["{path}", "{rate}"]'
    text = STUDY.replace(command, hangs if where == "command" else f"{command}\n{hangs}")
    text = text.replace('path = "bin/old", ', "").replace('path = "bin/new", ', "") if (
        where == "command"
    ) else text  # fmt: skip
    folder.study.write_text(text.replace("METRICS", 'env = { RATE = "{rate}" }'))
    planned(folder, engine, trust=True)
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
    ) as lab:
        wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"), "nothing is executed")
        group = of_the_trial(int(pids.read_text().split()[0]))
        lab.send_signal(signal.SIGKILL)
        lab.wait(PATIENCE_S)
    wait_until(lambda: not any(map(is_alive, group)), "a program outlives the lab")
    put_back_by_itself(state)
    assert not [path for path in folder.work.rglob("*") if not path.is_dir()]
    assert any(isinstance(e.event, TrialStarted) for e in read_journal(folder.journal))


def of_the_trial(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    wait_until(lambda: len(children.read_text().split()) == 2, "it starts nothing")
    return [pid, *map(int, children.read_text().split())]


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
