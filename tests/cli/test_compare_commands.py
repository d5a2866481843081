"""Commands that are really executed: compared, measured again, judged by the gate."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.imports import collected
from support.patience import wait_until
from support.said import said_in
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.values import cells_of
from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import Exports, compare
from tiltyard.cli.gate import _next_step, gate
from tiltyard.cli.printing import Printing
from tiltyard.errors import ExitCode, RefusedError, UsageError
from tiltyard.exporters import phoronix as exporter
from tiltyard.importers import phoronix as importer
from tiltyard.run.runner import HOPELESS_BLOCKS

SERVE = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("serves")
    while True:
        with server.accept()[0]:
            time.sleep(float(sys.argv[2]))
"""
ASK = "import socket, sys; socket.create_connection(sys.argv[1:]).recv(1)"
WAITS = (("soon", 0), ("late", 0.2))
FAST, SLOW = "fast=true", "slow=sleep 0.1"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    return tmp_path


def test_two_commands_are_compared_and_then_compared_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(command=(FAST, SLOW), runs=6)
    code = compare(commands=commands, require_decision=True, exports=Exports(here / "h.json"))
    shown = capsys.readouterr().out
    assert code == ExitCode.DONE
    assert "slower" in shown
    assert "prints something else" not in shown
    fast, slow = json.loads((here / "h.json").read_text())["results"]
    assert (len(fast["times"]), slow["exit_codes"]) == (6, [0] * 6)
    assert min(slow["times"]) >= 0.1 > fast["median"]
    assert slow["user"] + slow["system"] < 0.03
    compare(commands=commands)
    assert (here / "fast-slow-2/findings.json").exists()
    _is_the_same_in_composite_xml(here / "fast-slow/findings.json")


def _is_the_same_in_composite_xml(path: Path) -> None:
    """Also details that are 0 in every execution, of which there is no ratio."""
    findings = Findings.model_validate_json(path.read_bytes())
    (workload,) = findings.workloads
    wanted = {
        (cell.label, one.system): pytest.approx(one.values)
        for cell in cells_of(workload)
        for one in cell.summaries
    }
    back = importer.read(exporter.render(findings), "composite.xml")
    values = (one for own in back.workloads for one in own.measured)
    assert {(one.metric, one.system): one.values for one in values} == wanted
    zeros = {one.name for own in back.workloads for one in own.metrics if not one.headline}
    assert "read from devices" in zeros
    after = analyse_collection(collected(back))
    (again,) = after.workloads
    assert zeros <= {cell.label for cell in cells_of(again)}
    assert [one.name for one in after.systems] == ["fast", "slow"]


def test_the_gate_fails_a_slower_head_and_passes_a_faster_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = "slow=sleep 0.2"
    slower = Commands(command=(FAST, slow))
    code = gate(
        within="50%", blocks=6, commands=slower, junit=here / "g.xml", printing=Printing(json=True)
    )
    assert code == ExitCode.REGRESSION
    (line,) = json.loads(capsys.readouterr().out)["headlines"]
    assert (line["metric"], line["outcome"], line["system"]) == ("time", "regression", "slow")
    assert b"<failure" in (here / "g.xml").read_bytes()
    faster = Commands(command=(slow, FAST))
    (here / "g.md").write_text("Before.\n")
    assert gate(within="3%", blocks=6, commands=faster, markdown=here / "g.md") == ExitCode.DONE
    before, *lines = (here / "g.md").read_text().splitlines()
    assert (before, "1 improved" in lines[0]) == ("Before.", True)
    # A study that has been run is judged as it is.
    journal = (here / "gate-fast-slow/journal.jsonl").read_bytes()
    assert gate(here / "gate-fast-slow", within="3%") == ExitCode.REGRESSION
    assert (here / "gate-fast-slow/journal.jsonl").read_bytes() == journal


def test_an_undecided_gate_says_in_words_what_to_do(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # No delay of a busy host doubles one of these times: a margin of 100 % is none.
    commands = Commands(command=in_turns(here, 0.5, 0.55), runs=6)
    assert gate(within="0.001%", commands=commands) == ExitCode.UNDECIDED
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit code 6: neither a regression beyond 0.001 % nor its absence is shown" in said
    named = re.search(r"--within ([\d.]+)%, inside which it would lie", said)
    assert named
    assert gate(here / "gate-a-b", within=f"{named[1]}%") == ExitCode.DONE
    capsys.readouterr()
    gate(here / "gate-a-b", within="0.001%")
    said = " ".join(capsys.readouterr().out.split())
    assert "≈" not in said or "blocks = " in said, "a study has its blocks in its file"


def test_no_margin_is_named_that_the_gate_would_refuse() -> None:
    line = SimpleNamespace(high=3.0)
    found = SimpleNamespace(within=0.01, blocks_needed=9, margin_reached=0.994, unit="block")
    found.having = lambda _: [line]
    assert "or --within 99.4%" in _next_step(found, typed=True)  # type: ignore[arg-type]
    found.margin_reached = 2.0
    assert "--within" not in _next_step(found, typed=True)  # type: ignore[arg-type]
    told = _next_step(found, typed=False)  # type: ignore[arg-type]
    assert "≈ 9 blocks decides" in told
    assert told.endswith("blocks = 9 under [precision], in a new folder")
    found.unit = "session"
    told = _next_step(found, typed=False)  # type: ignore[arg-type]
    assert "≈ 9 sessions decides" in told
    assert told.endswith("sessions = 9 under [precision], in a new folder")
    with pytest.raises(UsageError, match="less than 100%"):
        gate(within="200%", commands=Commands(command=(FAST, SLOW)))


def test_what_is_printed_is_compared_by_a_command_and_shown(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "about.sh").write_text("test ${1%.*} = ${2%.*} || { echo $1 is not $2; exit 1; }\n")
    (here / "same").write_text('read a <"$1"; read b <"$2"; sh about.sh $a $b\n')
    usual = {"runs": 6, "compare_output": f"sh {here}/same"}
    same = Commands(command=("a=echo 3.14", "b=echo 3.15"), show_output=True, **usual)  # type: ignore[arg-type]
    assert compare(commands=same) == ExitCode.DONE
    shown = capsys.readouterr().err
    assert shown.count("Output   3.14\n") == shown.count("Output   3.15\n") == 6
    wrong = Commands(command=("a=echo 3.14", "b=echo 4.14"), **usual)  # type: ignore[arg-type]
    assert compare(commands=wrong) == ExitCode.TRIALS_FAILED
    shown = capsys.readouterr().err
    assert "printed something else than expected" in shown
    assert "is not" in shown


BURNS = """
import sys, time
cpu_s, whole_s, start = *map(float, sys.argv[1:]), time.monotonic()
while time.process_time() < cpu_s: pass
time.sleep(max(0, start + whole_s - time.monotonic()))
"""


def burning(here: Path, *cpu_s: float, runs: int = 6) -> Commands:
    """Commands that last as long and take so much CPU time each."""
    (here / "burn.py").write_text(BURNS)
    burn = f"{sys.executable} -S {here}/burn.py"
    named = zip("ab", cpu_s, strict=True)
    return Commands(command=tuple(f"{name}={burn} {own} 0.3" for name, own in named), runs=runs)


def test_cpu_time_at_the_same_time_by_the_clock_is_a_verdict_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(commands=burning(here, 0.05, 0.2), exports=Exports(here / "h.json")) is not None
    shown = capsys.readouterr().out
    findings = Findings.model_validate_json((here / "a-b/findings.json").read_bytes())
    (workload,) = findings.workloads
    assert workload.cpu_time is not None
    (pair,) = workload.cpu_time.comparisons
    assert pair.verdict == "slower"
    assert pair.low is not None
    assert pair.low > 1.5
    (line,) = [line for line in shown.splitlines() if line.startswith("  CPU time: a ")]
    assert " b " in line
    assert "slower" in " ".join(shown.split("CPU time: a ")[1].split()[:12])
    values = {standing.system: standing.value for standing in workload.cpu_time.standings}
    assert values["b"] < min(json.loads((here / "h.json").read_text())["results"][1]["times"])
    assert sum(cell.metric == "cpu_time" for cell in cells_of(workload)) == 1


def test_the_gate_tells_of_cpu_time_and_goes_by_it_where_asked_to(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = burning(here, 0.05, 0.2)
    assert gate(within="50%", by="cpu-time", commands=more) == ExitCode.REGRESSION
    told = " ".join(capsys.readouterr().out.split())
    assert "Gate 1 of 1 headline worse by more than 50 %" in told
    judged = here / "gate-a-b"
    assert gate(judged, within="95%", printing=Printing(json=True)) in (
        ExitCode.DONE, ExitCode.UNDECIDED, ExitCode.REGRESSION
    )  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert [one["metric"] for one in document["headlines"]] == ["time"]
    assert [(one["metric"], one["outcome"]) for one in document["beside"]] == [
        ("cpu_time", "regression")
    ]


def test_what_sleeps_takes_time_and_no_cpu_time(here: Path) -> None:
    compare(commands=Commands(command=("soon=sleep 0.01", "late=sleep 0.2"), runs=6))
    findings = Findings.model_validate_json((here / "soon-late/findings.json").read_bytes())
    (workload,) = findings.workloads
    assert workload.cpu_time is not None
    assert _only_pair(here / "soon-late/findings.json").verdict == "slower"
    assert all(0 < standing.value < 0.1 for standing in workload.cpu_time.standings)


def test_no_gate_goes_by_cpu_time_that_is_not_known(here: Path) -> None:
    """A metric that a program prints is not its CPU time."""
    (here / "suite.toml").write_text(
        """
question = "Which?"
[factors]
tool = { a = { rate = "1" }, b = { rate = "2" } }
[precision]
blocks = 6
[[workload]]
use = "program"
command = ["echo", "{rate}"]
metrics = { rate = { last = true, unit = "1/s", better = "higher" } }
"""
    )
    with pytest.raises(UsageError, match="--by cpu-time: no CPU time of a program is known"):
        gate(here / "suite.toml", within="3%", by="cpu-time", trust=True)
    assert not [*here.rglob("journal.jsonl")], "it is refused before anything is run"


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_servers_are_compared_and_none_outlives_its_trial(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two servers, one of which waits; the sign of one is what it prints."""
    (here / "serve.py").write_text(SERVE)
    port = _port()
    asked = Commands(
        command=(f"{sys.executable} -c '{ASK}' {{server}} {port}",),
        server=tuple(f"{name}={sys.executable} -u serve.py {port} {wait}" for name, wait in WAITS),
        ready=("stdout=serves",),
        runs=6,
    )
    exports = Exports(here / "h.json")
    assert compare(commands=asked, require_decision=True, exports=exports) == ExitCode.DONE
    results = json.loads((here / "h.json").read_text())["results"]
    assert [(one["command"], "parameters" in one) for one in results] == [
        ("soon", False), ("late", False)
    ]  # fmt: skip
    (late,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  late"))
    assert "slower" in late
    words = ("-m", "tiltyard", "compare", "-c", "a=sleep 60", "-c", "b=sleep 60")
    server = ("--server", asked.server[0], "--ready", str(port))
    with subprocess.Popen((sys.executable, *words, *server), stderr=subprocess.DEVNULL) as run:
        wait_until(lambda: _takes_connections(port), "it serves")
        run.kill()
    wait_until(lambda: not _takes_connections(port), "nobody serves any more")


def _takes_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_standard_output_may_be_a_file_or_nothing(here: Path) -> None:
    where = "test -f /proc/self/fd/1 && echo file || echo other >&2"
    commands = ("a=" + where, "b=" + where)
    written = Commands(command=commands, runs=6, shell=True, output="out", same_output=True)
    assert compare(commands=written) == ExitCode.DONE
    assert (here / "out").read_text() == "file\n"
    trial = next((here / "a-b/trials").iterdir())
    assert b'"text":"file\\n"' in said_in(trial)
    null = Commands(
        command=("a=test -c /dev/stdout", "b=test -c /dev/stdout"), output="null", runs=6
    )
    assert compare(commands=null) == ExitCode.DONE


def in_turns(here: Path, quick_s: float, slow_s: float) -> tuple[str, ...]:
    """Two commands that sleep: every other block the other one is the slower one."""
    (here / "turns").write_text(
        'echo >> "$1.log"; [ $((($(wc -l < "$1.log") + $2) % 2)) = 0 ] && exec sleep $3\n'
        "exec sleep $4\n"
    )
    times = f"{quick_s} {slow_s}"
    return tuple(f"{name}=sh {here}/turns {name} {n} {times}" for n, name in enumerate("ab"))


def test_neither_answer_is_told_apart_from_both(here: Path) -> None:
    commands = Commands(command=in_turns(here, 0, 0.3), runs=6)
    assert gate(within="0.0001%", commands=commands) == ExitCode.UNDECIDED
    pair = _only_pair(here / "gate-a-b/findings.json")
    assert (sum(one > 1 for one in pair.differences), len(pair.differences)) == (3, 6)


def _only_pair(findings: Path) -> Comparison:
    (workload,) = Findings.model_validate_json(findings.read_bytes()).workloads
    (pair,) = workload.index.comparisons
    return pair


def test_a_head_that_fails_is_no_pass(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails = Commands(command=("base=true", "head=false"))
    assert gate(within="3%", blocks=6, commands=fails) == ExitCode.TRIALS_FAILED
    assert (
        "1 of 1 headline invalid; 3 of 6 trials have failed (3 of head)" in capsys.readouterr().out
    )


def test_what_was_asked_for_cannot_be(here: Path) -> None:
    commands = Commands(command=(FAST, SLOW))
    with pytest.raises(UsageError, match="--workload \\(-w\\) and --command \\(-c\\)"):
        compare(workload=("postmark",), commands=commands)
    with pytest.raises(UsageError, match="--export-json goes with --command"):
        compare(str(here), str(here), exports=Exports(here / "x"))
    with pytest.raises(UsageError, match=r"--export-json .*: there is no such folder"):
        compare(commands=commands, exports=Exports(here / "no/h.json"))
    with pytest.raises(UsageError, match=r"--junit .*: a directory"):
        gate(within="3%", commands=commands, junit=here)
    for within in ("3", "0%", "100%"):
        with pytest.raises(UsageError, match="--within"):
            gate(within=within, commands=commands)
    with pytest.raises(UsageError, match="name a study, or two commands"):
        gate(within="3%")
    with pytest.raises(UsageError, match="--blocks is for commands"):
        gate(here, within="3%", blocks=7)
    assert not list(here.iterdir())


def test_a_study_from_elsewhere_asks_before_it_executes(here: Path) -> None:
    text = """
question = "Which?"
[factors]
tool = { a = { path = "./a" }, b = { path = "./b" } }
[[workload]]
use = "program"
command = ["{path}"]
"""
    (here / "suite.toml").write_text(text)
    for name in ("a", "b"):
        (here / name).write_text(f"#!/bin/sh\ntouch {here}/executed\n")
        (here / name).chmod(0o755)
    with pytest.raises(RefusedError, match="--trust"):
        gate(here / "suite.toml", within="3%")
    assert not (here / "executed").exists()


def test_what_fails_in_every_block_is_not_executed_in_all_of_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = Commands(command=("good=true", "bad=sh -c 'exit 3'"), runs=20)
    assert compare(commands=typed, folder=here / "study") == ExitCode.TRIALS_FAILED
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("Failed") == HOPELESS_BLOCKS
    assert "Ended nothing can be compared: program on bad never worked" in told
    assert (
        told.count("exit code 3, expected 0. Fix: mend the command, or accept the code: -i=3 of")
        == 1
    )
    assert told.count("program: as in block 1") == HOPELESS_BLOCKS - 1
    assert "then begin a new folder" in told
    accepted = Commands(command=typed.command, exit_codes="3", runs=6)
    assert compare(commands=accepted, folder=here / "accepted") == ExitCode.DONE


def test_commands_that_work_go_on_beside_one_that_never_does(here: Path) -> None:
    typed = Commands(command=("a=true", "b=true", "bad=false"), runs=6)
    assert compare(commands=typed, folder=here / "study") == ExitCode.TRIALS_FAILED
    assert len(list((here / "study/trials").iterdir())) == 3 * 6
