"""Real guests: User-Mode Linux, booted as an ordinary process, here and on another host."""

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.far import Far, here_and_there
from support.looks import find_program
from support.marked import marked
from support.patience import wait_until
from support.runs import SMOKE, Watcher, go_on, place, plan_of, wait_for_trial
from support.snapshots import put_back_by_itself
from tiltyard.analysis.statements.disturbances import failed_boots
from tiltyard.analysis.statements.evidence import Evidence
from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import Engine, Job
from tiltyard.host.ledger import Ledger
from tiltyard.host.start import MARK
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System, Up
from tiltyard.systems.vm.backends import Machine, uml
from tiltyard.systems.vm.backends.uml import UserModeLinux
from tiltyard.wire import EndEvent, read_events

pytestmark = pytest.mark.skipif(
    find_program("linux.uml") is None,
    reason="there is no User-Mode Linux: apt-get install user-mode-linux",
)

Make = Callable[..., System]
SMALL = {"kernel": "linux.uml", "memory": "192M", "backing": {"image": "64M"}}
LONG = WorkloadSpec(
    name="long", use="random", parameters={"file": "1M", "block": "4k", "operations": 100_000_000}
)


def guest_system(filesystem: str, **settings: object) -> SystemSpec:
    """A system of kind ``vm``."""
    return SystemSpec.model_validate(
        {
            "name": filesystem,
            "levels": {"filesystem": filesystem},
            "kind": "vm",
            "settings": {**SMALL, "filesystem": filesystem, **settings},
        }
    )


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    """Makes systems in a scratch folder; no process of theirs is left afterwards."""
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=tmp_path, ledger=ledger))

        def system(**settings: object) -> System:
            given: dict[str, Any] = {**SMALL, **settings, **far.settings}
            return far.made(kind("vm").system("guest", given, site))

        yield system
    assert [path.name for path in tmp_path.iterdir() if path.name != "consoles"] == []
    assert machines(tmp_path.parent) == []


def machines(below: Path) -> list[int]:
    """Processes of machines with files in a folder, theirs on the other host too; oldest first."""
    folder = os.fsencode(below)
    found = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if MARK.encode() in _of(entry, "environ") and folder in _of(entry, "cmdline")
    ]
    return sorted(found)


def _of(entry: Path, name: str) -> bytes:
    try:
        return (entry / name).read_bytes() if entry.name.isdigit() else b""
    except OSError:
        return b""


def trial(up: Up, *tests: str) -> EndEvent:
    """The last line of a trial in the guest."""
    parameters = {"file": "128k", "record": "32k", "tests": list(tests)}
    job = Job(workload="iozone", parameters=parameters, target=up.target)
    done = subprocess.run((*up.engine, "run"), input=job.message(), capture_output=True, check=True)
    *_, end = read_events(done.stdout.splitlines())
    assert isinstance(end, EndEvent)
    return end


@pytest.mark.skipif(find_program("cc") is None, reason="no C compiler: apt-get install gcc")
def test_on_a_cpu_with_amx_the_missing_state_is_restored_by_a_library(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded here too; that it helps, only a CPU with AMX can show."""
    assert uml.has_amx("flags : fpu amx_bf16 amx_tile\n")
    monkeypatch.setattr(uml, "has_amx", lambda _: True)
    monkeypatch.setattr(uml, "_KNOWS_AMX", (999, 0))
    system = make(filesystem="tmpfs")
    up = system.bring_up()
    words = up.commands[-1].argv
    assert any(word.startswith("LD_PRELOAD=") for word in words)
    maps = [Path(f"/proc/{process}/maps").read_text() for process in up.servers()]
    assert any("ptrace.so" in each for each in maps)
    assert trial(up, "write").data.outcome == "done"
    system.take_down()


@here_and_there
def test_a_kernel_of_its_own_with_a_file_system_that_this_one_need_not_have(
    make: Make, tmp_path: Path
) -> None:
    system = make(filesystem="reiserfs", mount=["noatime"], cmdline=["tiltyard.word=1"])
    assert [p.text for p in system.problems() if p.severity == "error"] == []
    up = system.bring_up()
    assert up.facts["file system"] == "reiserfs"
    assert "noatime" in up.facts["mount options"].split(",")
    assert up.facts["kernel"].startswith("Linux ")
    assert platform.release() not in up.facts["kernel"]
    assert "tiltyard.word=1" in up.facts["kernel command line"].split()
    assert "page cache" in up.facts["disk of the guest"]
    assert [command.argv[0] for command in up.commands] == ["mkfs.reiserfs", "taskset"]
    assert machines(tmp_path.parent)
    end = trial(up, "write", "read")
    assert end.data.outcome == "done"
    assert end.data.usage.foreign_s is not None, "what others use of its host is counted"
    assert end.data.usage.device is not None
    assert end.data.usage.device.name == "ubda"
    system.refresh()
    assert trial(up, "write").data.outcome == "done"
    system.take_down()
    system.take_down()
    assert machines(tmp_path.parent) == []
    (console,) = (tmp_path / "consoles").iterdir()
    assert "Linux version" in console.read_text()


def test_memory_of_the_guest_needs_no_image(make: Make, tmp_path: Path) -> None:
    system = make(filesystem="tmpfs", mount=["size=64m"])
    up = system.bring_up()
    assert up.facts["file system"] == "tmpfs"
    assert up.facts["size"] == "64 MiB"
    assert "device" not in up.facts
    assert not list(tmp_path.glob("*.img"))
    assert trial(up, "write").data.outcome == "done"
    system.take_down()


@here_and_there
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cmdline": ["rdinit=/no-such", "root="]}, "did not boot.*Kernel panic"),
        ({"kernel": "/bin/true"}, "did not boot: it has ended"),
        ({"mkfs": ["-O", "nonesuch"]}, "mkfs.ext4 .*nvalid filesystem option"),
        ({"mount": ["no-such-option"]}, "cannot mount ext4 from /dev/ubda: .*option"),
    ],
)
def test_what_does_not_come_up_says_why(
    make: Make,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    settings: dict[str, object],
    said: str,
) -> None:
    if "kernel" in settings:
        beside = tmp_path_factory.mktemp("kernel")
        settings = {"kernel": str(marked(Path("/bin/true"), beside / "kernel"))}
    with pytest.raises(TiltyardError, match=said) as raised:
        make(**settings).bring_up()
    if "Kernel panic" in said:
        (console,) = (tmp_path / "consoles").iterdir()
        assert f"(consoles/{console.name})" in str(raised.value)
        assert "Kernel panic" in console.read_text()


@here_and_there
def test_a_study_boots_once_a_turn_and_survives_a_machine_that_dies(
    tmp_path: Path, far: Far
) -> None:
    """The first machine is killed in its first trial; that of the other file system is not."""
    killed: list[int] = []

    class Killer(Watcher):
        def trial_started(self, key: object, slot: int, outlook: object) -> None:
            if not killed:
                # The first is the engine that is above the machine.
                killed.extend(machines(tmp_path.parent)[1:])
                os.kill(killed[0], 9)

    systems = (guest_system("jfs", **far.settings), guest_system("ext4", **far.settings))
    plan = plan_of(systems, workloads=(SMOKE,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Killer())
    record = read_run(folder, plan)
    first, second = record.trials
    assert (first.key.system, first.outcome) == ("jfs", "failed")
    assert first.reason is not None
    assert "guest" in first.reason
    assert (second.key.system, second.outcome) == ("ext4", "done")
    assert [prepared.facts["file system"] for prepared in record.prepared] == ["jfs", "ext4"]
    assert len(list((folder.root / "consoles").iterdir())) == 2
    assert not folder.work.exists() or not list(folder.work.iterdir())


def test_a_boot_that_fails_is_made_again_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel of the first two boots finds no first program, and panics."""
    _fail_boots(monkeypatch, 2)
    plan = plan_of((guest_system("ext4"),), workloads=(SMOKE,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(folder, plan)
    assert [trial.outcome for trial in record.trials] == ["done"]
    (prepared,) = record.prepared
    assert len(prepared.failed_boots) == 2
    assert all("Kernel panic" in why for why in prepared.failed_boots)
    (notice,) = failed_boots.make(Evidence(plan, record))
    assert notice.text.startswith("2 boots failed before a trial began, of 3, and were repeated.")
    assert not folder.work.exists() or not list(folder.work.iterdir())


def test_a_machine_that_never_boots_is_started_three_times(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail_boots(monkeypatch, 9)
    with pytest.raises(TiltyardError, match=r"Kernel panic.*; 3 boots of 3 failed"):
        make().bring_up()


def _fail_boots(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The first ``number`` machines have no first program: real boots, real panics."""
    command = UserModeLinux.command
    begun = []

    def failing(self: UserModeLinux, machine: Machine, *pipes: int) -> tuple[str, ...]:
        begun.append(machine)
        if len(begun) <= number:
            words = (*machine.command_line, "rdinit=/no-such", "root=")
            machine = replace(machine, command_line=words)
        return command(self, machine, *pipes)

    monkeypatch.setattr(UserModeLinux, "command", failing)


@pytest.mark.parametrize("far", [True], indirect=True)
def test_a_guest_of_a_host_that_is_lost_is_switched_off_there(make: Make, tmp_path: Path) -> None:
    system = make(filesystem="tmpfs")
    up = system.bring_up()
    assert machines(tmp_path.parent)
    os.kill(system.place.host.pid, signal.SIGKILL)  # What leads there.
    wait_until(lambda: not machines(tmp_path.parent), "the machine is there still")
    assert up.lost() == f"the agent on {system.place} that has prepared it has ended"
    system.take_down()


def test_a_machine_ends_when_its_lab_is_killed_and_the_rest_is_taken_back(
    tmp_path: Path, state: Path
) -> None:
    plan = plan_of((guest_system("ext4"), guest_system("jfs")), workloads=(LONG,), blocks=1)
    folder = place(tmp_path / "study", plan)
    lab = subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    try:
        wait_for_trial(folder, "long")
    finally:
        lab.kill()
        lab.wait()
    put_back_by_itself(state)
    assert machines(tmp_path) == []
    assert not list(folder.work.iterdir())
