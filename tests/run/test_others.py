"""What others have at the moment is waited for; it is no result, and uses nothing of a plan up."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.devices import MIB, loop_disk, sh
from support.hosts import needs_root
from support.patience import PATIENCE_S
from support.places import tuning_facts
from support.runs import Watcher, directory_system, go_on, image_system, place, plan_of
from tiltyard.errors import BusyError, ExitCode, InterruptedRunError, TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.host.host import hosts
from tiltyard.plan.model import Plan
from tiltyard.run.journal import TrialFinished, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec

pytestmark = needs_root

KEY = "vm.user_reserve_kbytes"
"""Harmless: how often counters are folded, in seconds."""
HOLDS = """
import sys
from tiltyard.host.ledger import Ledger
with Ledger() as ledger:
    ledger.hold_machine(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    """Another run that has set the same kernel parameter, until its input ends."""
    argv = (sys.executable, "-c", HOLDS, str(sysctls.path_of(KEY)))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(PATIENCE_S)


def tuned(tmp_path: Path, name: str = "tuned", value: int = 7) -> SystemSpec:
    """A system that sets the parameter for its turns."""
    profile = tmp_path / f"{name}.toml"
    profile.write_text(f'about = "x"\n[sysctl]\n{KEY} = {value}\n')
    made = directory_system(name, tmp_path / "disk" / name)
    settings = {**made.settings, "tuning": [str(profile)]}
    return made.model_copy(update={"settings": settings})


class Reacting(Watcher):
    """Does something at the first note that it is told."""

    def __init__(self, react: Callable[[], object]) -> None:
        super().__init__()
        self._react = react

    def note(self, text: str) -> None:
        super().note(text)
        if "waiting, for" in text:
            self._react()


def finished(folder: StudyFolder) -> list[TrialFinished]:
    events = (entry.event for entry in read_journal(folder.journal))
    return [event for event in events if isinstance(event, TrialFinished)]


def let_go(holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    holder.stdin.close()


def test_a_setting_of_another_run_is_waited_for(
    tmp_path: Path, engine: Engine, holder: subprocess.Popen[str]
) -> None:
    before = sysctls.read(KEY)
    folder = place(tmp_path / "study", plan := plan_of((tuned(tmp_path),), blocks=2))
    watcher = Reacting(lambda: let_go(holder))
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 2"
    assert [event.outcome for event in finished(folder)] == ["done", "done"]
    (told,) = [text for text in watcher.told if "waiting" in text]
    assert f"{KEY} is taken by another run (process {holder.pid}, " in told
    assert told.endswith("; waiting, for 10:00 at most")
    assert sysctls.read(KEY) == before


def test_a_run_that_waits_no_longer_ends_and_keeps_its_plan(
    tmp_path: Path, engine: Engine, holder: subprocess.Popen[str]
) -> None:
    folder = place(tmp_path / "study", plan := plan_of((tuned(tmp_path),), blocks=2))
    with pytest.raises(BusyError, match=r"is taken by another run .* the same command goes on$"):
        run_study(folder, plan, engine, go_on, Watcher(), wait_s=0.2)
    assert BusyError.exit_code == ExitCode.REFUSED
    assert finished(folder) == []
    let_go(holder)
    holder.wait(PATIENCE_S)
    assert run_study(folder, plan, engine, go_on, Watcher()) == "all planned blocks are done: 2"
    assert [event.outcome for event in finished(folder)] == ["done", "done"]


def test_in_the_middle_of_a_run_it_is_the_same(
    tmp_path: Path, engine: Engine, holder: subprocess.Popen[str]
) -> None:
    """The other systems of the block are up and down again meanwhile."""
    systems = (directory_system("plain", tmp_path / "plain"), tuned(tmp_path))
    folder = place(tmp_path / "study", plan := plan_of(systems, blocks=1))
    with pytest.raises(BusyError):
        run_study(folder, plan, engine, go_on, Watcher(), wait_s=0)
    assert [event.key.system for event in finished(folder)] == ["plain"]
    run_study(folder, plan, engine, go_on, Reacting(lambda: let_go(holder)))
    assert [(e.key.system, e.outcome) for e in finished(folder)] == [
        ("plain", "done"),
        ("tuned", "done"),
    ]


def test_ctrl_c_ends_the_waiting(
    tmp_path: Path, engine: Engine, holder: subprocess.Popen[str]
) -> None:
    folder = place(tmp_path / "study", plan := plan_of((tuned(tmp_path),), blocks=1))
    pressed = Reacting(lambda: os.kill(os.getpid(), 2))
    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, engine, go_on, pressed)
    assert holder.poll() is None
    assert finished(folder) == []


def test_what_a_killed_run_left_is_put_back_while_it_is_waited_for(
    tmp_path: Path, engine: Engine, holder: subprocess.Popen[str]
) -> None:
    folder = place(tmp_path / "study", plan := plan_of((tuned(tmp_path),), blocks=1))
    run_study(folder, plan, engine, go_on, Reacting(holder.kill))
    assert [event.outcome for event in finished(folder)] == ["done"]


def test_two_studies_of_the_same_setting_take_turns(tmp_path: Path, engine: Engine) -> None:
    """At once, in processes of their own: each has its value in each of its turns."""
    before = sysctls.read(KEY)
    placed: list[tuple[StudyFolder, Plan]] = []
    for name, value in (("one", 7), ("two", 8)):
        plan = plan_of((tuned(tmp_path, name, value),), blocks=3)
        placed.append((place(tmp_path / f"study-{name}", plan), plan))
    runs = [
        subprocess.Popen(
            (sys.executable, "-m", "support.runs", str(folder.root)),
            cwd=Path(__file__).resolve().parents[1],
        )
        for folder, _ in placed
    ]
    assert [run.wait(PATIENCE_S) for run in runs] == [0, 0]
    for (folder, plan), value in zip(placed, "78", strict=True):
        assert [event.outcome for event in finished(folder)] == ["done"] * 3
        for prepared in read_run(folder, plan).prepared:
            told = tuning_facts(prepared.facts)[f"tuning {KEY}"]
            assert told == f"{value} (was {before})"
    assert sysctls.read(KEY) == before


def test_a_device_that_is_held_for_a_while(tmp_path: Path, engine: Engine) -> None:
    image = tmp_path / "disk.img"
    with loop_disk(image, 16 * MIB) as node:
        settings = {
            "filesystem": "ext2",
            "device": node,
            "confirm": {"size": 16 * MIB, "backing_file": str(image)},
        }
        system = SystemSpec(
            name="disk", levels={"filesystem": "ext2"}, kind="block-device", settings=settings
        )
        folder = place(tmp_path / "study", plan := plan_of((system,), blocks=2))
        sh("mkfs.ext2", "-q", node)
        (tmp_path / "somewhere").mkdir()
        sh("mount", node, str(tmp_path / "somewhere"))
        with pytest.raises(BusyError, match=r"is mounted on .*/somewhere"):
            run_study(folder, plan, engine, go_on, Watcher(), wait_s=0)

        def give_back() -> None:
            sh("umount", str(tmp_path / "somewhere"))
            sh("blkdiscard", "--zeroout", node)

        watcher = Reacting(give_back)
        assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 2"
        assert [event.outcome for event in finished(folder)] == ["done", "done"]


def test_a_device_on_which_another_run_has_a_file_system(tmp_path: Path, engine: Engine) -> None:
    """Unmounted between its turns: it is that run's to take away, and nobody is told to wipe it."""
    image = tmp_path / "disk.img"
    with loop_disk(image, 16 * MIB) as node:
        confirm = {"size": 16 * MIB, "backing_file": str(image)}
        settings = {"filesystem": "ext2", "device": node, "confirm": confirm, "reset": "remount"}
        spec = {"name": "d", "levels": {}, "kind": "block-device", "settings": settings}
        plan = plan_of((SystemSpec.model_validate(spec),), blocks=1)
        argv = (sys.executable, "-c", FORMATS, str(tmp_path), repr(settings))
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            folder = place(tmp_path / "study", plan)
            run_study(folder, plan, engine, go_on, watcher := Reacting(lambda: let_go(other)))
            assert other.wait(PATIENCE_S) == 0
        assert [event.outcome for event in finished(folder)] == ["done"]
        assert any(f"{node} is taken by another run" in text for text in watcher.told)


FORMATS = """
import ast, sys
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
work, settings = Path(sys.argv[1]), ast.literal_eval(sys.argv[2])
with Ledger() as ledger:
    system = kind("block-device").system("x", settings, Site(work, work, ledger))
    system.bring_up()
    system.take_down()
    print("ready", flush=True)
    sys.stdin.read()
"""


def broken(name: str) -> SystemSpec:
    return image_system(name, "16M", mkfs=["-O", "nonesuch"])


def test_a_block_in_which_nothing_comes_up_is_no_result(tmp_path: Path, engine: Engine) -> None:
    plan = plan_of((broken("ext2"), broken("ext4")), blocks=3)
    folder = place(tmp_path / "study", plan)
    for _ in range(2):
        with pytest.raises(TrialsFailedError, match=r"no system came up: .* 1 more did not") as why:
            run_study(folder, plan, engine, go_on, Watcher())
        assert str(why.value).startswith("block 1: no system came up: ext2 did not come up: mkfs.")
        assert finished(folder) == []


def test_the_same_command_measures_what_could_not_come_up(tmp_path: Path, engine: Engine) -> None:
    """The program that is needed is not there for a while."""
    plan = plan_of((image_system("ext2", "16M"),), blocks=2)
    folder = place(tmp_path / "study", plan)
    fails = tmp_path / "bin" / "mkfs.ext2"
    fails.parent.mkdir()
    fails.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    fails.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{fails.parent}:{os.environ['PATH']}")
        with pytest.raises(TrialsFailedError, match=r"mkfs\.ext2 .*no luck"):
            run_study(folder, plan, engine, go_on, Watcher())
        hosts.close()  # Its agent keeps this PATH.
    assert run_study(folder, plan, engine, go_on, Watcher()) == "all planned blocks are done: 2"
    assert [event.outcome for event in finished(folder)] == ["done", "done"]


def test_one_that_does_not_come_up_beside_others_has_failed(tmp_path: Path, engine: Engine) -> None:
    """It is written down when the first one has come up, whichever is first in the block."""
    plan = plan_of((broken("ext2"), image_system("ext4", "16M")), blocks=2)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    outcomes = sorted((e.key.block, e.key.system, e.outcome) for e in finished(folder))
    assert outcomes == [
        (1, "ext2", "failed"),
        (1, "ext4", "done"),
        (2, "ext2", "failed"),
        (2, "ext4", "done"),
    ]
