"""Studies that other hosts carry out, each a session: nodes of Slurm, and hosts by ssh."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from support.hosts import needs_root
from support.looks import find_program
from support.patience import PATIENCE_S, wait_until
from support.slurm import Slurm, slurm
from support.sshd import Sshd, sshd
from tiltyard.app.fleet import _Fleet
from tiltyard.app.freeze import frozen
from tiltyard.app.report import findings_of
from tiltyard.cli.check import check
from tiltyard.cli.restore import restore
from tiltyard.cli.run import run
from tiltyard.cli.status import status
from tiltyard.errors import BusyError, ExitCode, HostLacksError, RefusedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import Ledger
from tiltyard.plan.store import write_plan
from tiltyard.run.journal import Started, TrialFinished, read_journal
from tiltyard.run.nodes import Nodes
from tiltyard.run.read import read_run
from tiltyard.run.sessions import sessions_of, write_sessions
from tiltyard.study.model import Placement

STUDY = """question = "Is new slower than old?"
[factors]
build = {{ old = {{ s = "0.01" }}, new = {{ s = "0.02" }} }}
[[workload]]
use = "program"
command = ["sleep", "{{s}}"]
executions = 1
[precision]
blocks = {blocks}
[noise]
disturbed = "keep"
reference_run = "0%"
[placement]
{placement}
"""
NODES = 'engine = "slurm"\nnodes = 3'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home on all nodes; nothing of ours is left there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield home
    # A runner whose node was killed ends by itself, and takes its copy with it.
    wait_until(lambda: not [*home.iterdir()], "a copy is not removed")


@pytest.fixture
def cluster(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """Four nodes; nothing is allocated at the end."""
    del home
    with slurm(tmp_path / "slurm", monkeypatch) as cluster:
        yield cluster
        assert cluster.jobs() == ""


def write(folder: StudyFolder, placement: str, blocks: int = 2) -> StudyFolder:
    folder.study.write_text(STUDY.format(placement=placement, blocks=blocks))
    return folder


def trials_of(folder: StudyFolder) -> dict[int, list[TrialFinished]]:
    """Session → its trials, of the host that has carried it out whole."""
    found = {}
    for session in sessions_of(folder):
        entries = (entry.event for entry in read_journal(session.folder.journal))
        found[session.number] = [event for event in entries if isinstance(event, TrialFinished)]
    return found


def nodes_of(folder: StudyFolder) -> list[str]:
    findings = findings_of(folder.root)
    assert findings.sessions is not None
    return [line.node for line in findings.sessions.lines]


def require_whole(folder: StudyFolder, sessions: int, blocks: int) -> None:
    """Every trial of each session once, and all of them done."""
    found = trials_of(folder)
    assert [*found] == [*range(1, sessions + 1)]
    for trials in found.values():
        keys = [trial.key for trial in trials if trial.outcome == "done"]
        assert len(keys) == len(set(keys)) == 2 * blocks


def start(folder: StudyFolder) -> "subprocess.Popen[bytes]":
    """The command in a process of its own, which may be killed."""
    argv = (sys.executable, "-m", "tiltyard", "run", str(folder.root), "--trust")
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def trials_begun(folder: StudyFolder) -> int:
    """How many trials there are."""
    return len([*folder.root.rglob("trials/*.gz")])


@needs_root
def test_nodes_of_slurm_carry_sessions_out_and_a_lost_one_is_replaced(
    cluster: Slurm, open_folder: StudyFolder, capsys: pytest.CaptureFixture[str]
):
    folder = write(open_folder, NODES, blocks=3)
    running = start(folder)
    wait_until(lambda: trials_begun(folder) >= 3, "trials")
    cluster.lose("n1")
    assert running.wait(PATIENCE_S) == ExitCode.DONE
    require_whole(folder, 3, 3)
    assert check(folder.root) == ExitCode.DONE
    nodes = nodes_of(folder)
    assert "n1" not in nodes
    # The one that Slurm has left, or one that was done.
    assert len(set(nodes)) >= 2
    told = findings_of(folder.root).sessions
    assert told is not None
    assert "n1 was lost after " in told.sentence
    assert [*folder.root.rglob("lost/1/why")]
    status(folder.root)
    assert f", on {nodes[-1]}" in capsys.readouterr().out
    # What the lost node has is removed when it is back.
    cluster.start("n1")
    wait_until(lambda: cluster.states()["n1"] == "idle", "n1 is back")
    restore()


@needs_root
def test_killed_or_stopped_it_goes_on_and_no_node_stays_allocated(
    cluster: Slurm, open_folder: StudyFolder
):
    folder = write(open_folder, NODES, blocks=3)
    for number in (signal.SIGKILL, signal.SIGINT):
        before = trials_begun(folder)
        running = start(folder)
        wait_until(lambda before=before: trials_begun(folder) > before + 1, "trials")
        running.send_signal(number)
        code = running.wait(PATIENCE_S)
        assert code == (-number if number == signal.SIGKILL else ExitCode.INTERRUPTED)
        if number == signal.SIGKILL:
            # Those that carry the sessions out end by themselves.
            wait_until(lambda: not _running(folder), "the end of all")
            # And so does the agent that has promised to give the nodes back.
            wait_until(lambda: cluster.jobs() == "", "the nodes are free")
        assert cluster.jobs() == ""
    assert run(folder.root, trust=True) == ExitCode.DONE
    require_whole(folder, 3, 3)
    starts = [entry.event for entry in read_journal(folder.journal)]
    assert len({event.node for event in starts if isinstance(event, Started)}) == 1


def _running(folder: StudyFolder) -> list[str]:
    mark = str(folder.root).encode()
    return [
        entry.name
        for entry in Path("/proc").glob("[0-9]*")
        if int(entry.name) != os.getpid() and mark in _command(entry)
    ]


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


@needs_root
def test_nodes_that_slurm_does_not_give(cluster: Slurm, open_folder: StudyFolder):
    folder = write(open_folder, 'engine = "slurm"\nnodes = 9')
    for attempt in (lambda: run(folder.root, trust=True), lambda: check(folder.root)):
        with pytest.raises(HostLacksError, match="Slurm: "):
            attempt()
    folder = write(open_folder, 'engine = "slurm"\nnodes = 3\npartition = "none"')
    folder.plan.unlink()
    shutil.rmtree(folder.sessions)
    with pytest.raises(HostLacksError, match="nvalid partition"):
        run(folder.root, trust=True)
    assert cluster.jobs() == ""


@needs_root
def test_nodes_that_others_have_are_waited_for_and_ctrl_c_ends_that(
    cluster: Slurm, open_folder: StudyFolder, capsys: pytest.CaptureFixture[str]
):
    folder = write(open_folder, NODES)
    others = ("salloc", "--no-shell", "--quiet", "--nodes=2", "--exclusive", "--job-name=others")
    subprocess.run(others, check=True, capture_output=True)
    with pytest.raises(BusyError, match="no nodes in 1 s"):
        run(folder.root, trust=True, wait="1 s")
    assert "tiltyard" not in cluster.jobs()
    running = start(folder)
    wait_until(lambda: "tiltyard" in cluster.jobs(), "a job that waits")
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE_S) == ExitCode.INTERRUPTED
    assert "tiltyard" not in cluster.jobs()
    # A dry run asks for nothing, and says what a run would.
    capsys.readouterr()
    check(folder.root, dry_run=True)
    told = capsys.readouterr().out
    assert "salloc --no-shell --no-kill --quiet --job-name=tiltyard-TOKEN-nodes-1" in told
    assert "scancel --me --name=tiltyard-TOKEN-nodes-1" in told
    subprocess.run(("scancel", "--name=others"), check=True)
    wait_until(lambda: cluster.jobs() == "", "the end of others")


@needs_root
def test_a_licence_keeps_two_studies_off_one_target(cluster: Slurm, open_folder: StudyFolder):
    placement = 'engine = "slurm"\nnodes = 2\nlicenses = "nas:1"'
    folder = write(open_folder, placement, blocks=3)
    with Ledger() as ledger:
        first = Nodes(Placement(engine="slurm", nodes=1, licenses="nas:1"), ledger, lambda: None)
        first.take(set(), 1, PATIENCE_S)
        # Three nodes are free, and the target is not.
        with pytest.raises(BusyError, match="no nodes in 1 s"):
            run(folder.root, trust=True, wait="1 s")
        # A node in the place of a lost one is for the same study, which has the licence.
        own = [*first.places]
        assert first.another(own) not in ("", *own)


class Fleet(_Fleet):
    """One whose sessions are begun by name only."""

    def _begin(self, session: Any, node: str) -> None:
        begun.append(f"{session} on {node}")
        runner = SimpleNamespace(session=SimpleNamespace(number=session), node=node, is_done=True,
                                 said=MagicMock())  # fmt: skip
        self._runners.append(runner)  # type: ignore[arg-type]


begun: list[str] = []


@pytest.fixture
def fleet() -> Fleet:
    """Of three hosts, of which none carries anything out."""
    begun.clear()
    nodes = Nodes(Placement(hosts=("n2", "n3", "n4")), None, lambda: None)  # type: ignore[arg-type]
    nodes.take(set(), 3, 0.0)
    return Fleet(nodes, None, lambda _: None, {})  # type: ignore[arg-type]


def test_two_sessions_of_one_host_take_turns(fleet: Fleet):
    fleet._begin_all([(1, "n2"), (3, "n2")])  # type: ignore[list-item]
    assert begun == ["1 on n2"]
    fleet._end(fleet._runners[0])
    assert begun == ["1 on n2", "3 on n2"]


def test_a_host_that_carries_out_another_session_is_said_to_count_once():
    notes: list[str] = []
    nodes = Nodes(Placement(hosts=("n2",)), None, lambda: None)  # type: ignore[arg-type]
    fleet = _Fleet(nodes, None, notes.append, {})  # type: ignore[arg-type]
    for number in (1, 2):
        fleet._begin(SimpleNamespace(number=number), "n2")  # type: ignore[arg-type]
    assert notes == [
        "n2: session 1",
        "n2: session 2, one more here: what this host carries out counts once",
    ]
    for runner in fleet._runners:
        runner.said.close()
        runner.tell.close()


def test_a_lost_host_is_replaced_by_one_that_nobody_waits_for(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tiltyard.app.fleet._put_aside", lambda *_: None)
    fleet._begin_all([(1, "n1"), (2, "n2"), (3, "n3")])  # type: ignore[list-item]
    assert begun == ["2 on n2", "3 on n3", "1 on n4"]


def test_the_end_of_a_session_is_heard_while_those_of_other_processes_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ended = tmp_path / "ended"

    def carry_out(session: Any, *_: object, **__: object) -> None:
        if session.number == 1:
            wait_until(ended.exists, "the end of the other one is not heard")

    def note(text: str) -> None:
        if text == "n2: session 2 is done":
            ended.touch()

    monkeypatch.setattr("tiltyard.app.fleet._OF_A_PROCESS", 1)
    monkeypatch.setattr("tiltyard.app.fleet.run_until_decided", carry_out)
    plan = SimpleNamespace(sequence=[SimpleNamespace(number=1)])
    sessions = [(SimpleNamespace(number=number, plan=plan), f"n{number}") for number in (1, 2)]
    nodes = SimpleNamespace(places={"n1": None, "n2": None}, lost=set())
    fleet = _Fleet(nodes, None, note, {})  # type: ignore[arg-type]
    fleet.carry_out(sessions)  # type: ignore[arg-type]
    assert not fleet.open
    assert ended.exists()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with sshd(tmp_path / "server") as server:
        yield server
        assert not list(server.home.iterdir())


def hosts(server: Sshd, *names: str) -> str:
    """Three names of one host, and one that nobody has."""
    folder = server.home.parent
    key = f"IdentityFile {folder / 'key'}\nUserKnownHostsFile {folder / 'known_hosts'}"
    reached = f"HostName 127.0.0.1\nPort {server.port}\nUser {server.far.split('@')[0]}\n{key}"
    gone = "HostName 127.0.0.1\nPort 1"
    texts = [f"Host {name}\n{gone if name == 'gone' else reached}\n" for name in names]
    (folder / "ssh_config").write_text("".join(texts))
    return (
        f"hosts = {json.dumps(names)}\nssh_options = {json.dumps(['-F', f'{folder}/ssh_config'])}"
    )


def test_hosts_by_ssh_and_a_spare_for_one_that_is_gone(server: Sshd, open_folder: StudyFolder):
    placement = hosts(server, "gone", "one", "two")
    folder = write(open_folder, placement, blocks=3)
    folder.study.write_text(folder.study.read_text().replace("blocks", "sessions = 2\nblocks"))
    with pytest.raises(RefusedError, match="ssh_options"):
        run(folder.root)
    assert run(folder.root, trust=True) == ExitCode.DONE
    require_whole(folder, 2, 3)
    assert sorted(nodes_of(folder)) == ["one", "two"]


SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
shift
cd %s && exec sh -c "$*"
"""
"""In its place: options and host are left out. Ten real ones would share our processors."""
TOGETHER = f"""#!/bin/sh
touch %s/$$
end=$(($(date +%%s) + {PATIENCE_S:.0f}))
until [ $(ls %s | wc -l) -ge 10 ]; do [ $(date +%%s) -lt $end ] || exit 1; sleep 0.1; done
sleep "$1"
"""
"""It waits until ten of them have begun; one that is alone fails."""


def test_ten_hosts_are_at_work_at_the_same_time(
    tmp_path: Path, home: Path, open_folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
):
    """So 20 blocks take the time of two: each first trial waits until all ten have begun."""
    (programs := tmp_path / "programs").mkdir()
    (met := tmp_path / "met").mkdir()
    for name, text in (("ssh", SSH % home), ("together", TOGETHER % (met, met))):
        (program := programs / name).write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    folder = write(open_folder, f"hosts = {json.dumps([f'n{n}' for n in range(10)])}", blocks=2)
    text = folder.study.read_text().replace('"sleep"', f'"{programs}/together"')
    folder.study.write_text(text)
    assert run(folder.root, trust=True) == ExitCode.DONE
    require_whole(folder, 10, 2)
    assert nodes_of(folder) == [f"n{n}" for n in range(10)]


def test_each_host_meets_every_system_in_whole_blocks_that_the_seed_draws(tmp_path: Path):
    def drawn(name: str, seed: int) -> list[list[list[str]]]:
        """Host → block → systems, as they are frozen."""
        folder = StudyFolder(tmp_path / name)
        folder.root.mkdir()
        write(folder, 'hosts = ["a", "b", "c", "d"]', blocks=6)
        folder.study.write_text(f"seed = {seed}\n{folder.study.read_text()}")
        write_plan(folder, plan := frozen(folder.study, Engine.find(), None, folder))
        write_sessions(folder, plan)
        plans = [session.plan for session in sessions_of(folder)]
        numbers = [block.number for plan in plans for block in plan.sequence]
        assert len(numbers) == len({*numbers})
        return [[[turn.system for turn in block.turns] for block in plan.blocks] for plan in plans]

    found = drawn("first", 7)
    assert [len(blocks) for blocks in found] == [6] * 4
    assert all(sorted(block) == ["new", "old"] for blocks in found for block in blocks)
    # Hosts have orders of their own, and the seed says which.
    assert len({str(blocks) for blocks in found}) == 4
    assert drawn("again", 7) == found
    assert drawn("other", 8) != found


MADE = """question = "Which file system?"
[factors]
filesystem = ["ext4", "ext2"]
[systems]
{systems}
[[workload]]
use = "random"
file = "1M"
runtime_s = 0.1
[precision]
blocks = 3
[noise]
disturbed = "keep"
reference_run = "0%"
[placement]
engine = "slurm"
nodes = 2
"""


GUESTS = 'kind = "vm"\nkernel = "linux.uml"\nmemory = "192M"\nbacking = { image = "64M" }'
needs_guests = pytest.mark.skipif(
    find_program("linux.uml") is None,
    reason="there is no User-Mode Linux: apt-get install user-mode-linux",
)


@pytest.mark.conformance
@needs_root
@pytest.mark.parametrize(
    "systems", ['kind = "loop-image"', pytest.param(GUESTS, marks=needs_guests)],
    ids=["images", "guests"],
)  # fmt: skip
def test_file_systems_are_made_on_nodes_of_slurm(
    cluster: Slurm, open_folder: StudyFolder, systems: str
):
    open_folder.study.write_text(MADE.format(systems=systems))
    assert run(open_folder.root, trust=True) == ExitCode.DONE
    require_whole(open_folder, 2, 3)
    assert len({*nodes_of(open_folder)}) == 2
    for session in sessions_of(open_folder):
        for prepared in read_run(session.folder, session.plan).prepared:
            assert prepared.facts["file system"] == prepared.system
            assert any(command.argv[0].startswith("mkfs") for command in prepared.commands)
    said = [path.read_text() for path in (open_folder.root / "consoles").glob("*.log")]
    boots = [text.count("Linux version ") for text in said]
    assert boots == ([6, 6] if systems == GUESTS else []), "of each system, one a turn on two nodes"
    assert cluster.jobs() == ""
