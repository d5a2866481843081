"""Programs and servers that behave as badly as they can: one clear reason, and nothing is left."""

import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import PATIENCE_S, wait_until
from support.runs import Watcher, go_on
from support.snapshots import put_back_by_itself
from tiltyard.app.freeze import planned
from tiltyard.cli.check import check
from tiltyard.cli.restore import restore
from tiltyard.errors import ExitCode, NotRestoredError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.host.host import hosts
from tiltyard.host.ledger import recover
from tiltyard.plan.model import Plan
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

PYTHON = "/usr/bin/python3"
SERVES = "import socket, sys, time, os\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\n"
STUDY = """\
question = "q"
[factors]
number = [1, 2]
[systems]
SYSTEMS
[[workload]]
use = "program"
command = ["{program}", "{{number}}"]
WORKLOAD
"""
SERVER = """\
[systems.service]
start = ["{python}", "{server}", "{{socket}}"]
stop_timeout = 0.5
user = "{user}"
"""

pytestmark = pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 of the system")


@pytest.fixture
def folder(tmp_path: Path, state: Path) -> Iterator[StudyFolder]:
    """A study folder; what is trusted is forgotten after."""
    (tmp_path / "study").mkdir()
    yield StudyFolder(tmp_path / "study")
    shutil.rmtree(state / "trusted", ignore_errors=True)


def plan_of(
    folder: StudyFolder,
    engine: Engine,
    program: str,
    *,
    server: str = "",
    service: str = "",
    systems: str = "",
    **keys: str,
) -> Plan:
    """One block of a study of a program, on a server if there is one.

    Args:
        folder: of the study.
        engine: that validates it.
        program: text of the program.
        server: text of its server.
        service: more keys of the server.
        systems: more settings of the systems.
        keys: of the workload.
    """
    path = folder.root.parent / "hostile"
    path.write_text(f"#!{PYTHON}\nimport os, sys, time\n{program}\n")
    path.chmod(0o755)
    if server:
        (folder.root.parent / "server.py").write_text(f"{SERVES}{server}\n")
        systems += "\n" + SERVER.format(
            python=PYTHON,
            server=folder.root.parent / "server.py",
            user=pwd.getpwuid(os.geteuid()).pw_name,
        )
        systems += service
    keys = {"executions": "1", **keys}
    workload = "\n".join(f"{key} = {value}" for key, value in keys.items())
    text = STUDY.format(program=path).replace("SYSTEMS", systems).replace("WORKLOAD", workload)
    folder.study.write_text(text)
    plan = planned(folder, engine, trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    return plan


def reasons(folder: StudyFolder, engine: Engine, plan: Plan) -> set[str]:
    """Why trials failed; nothing of the run is left."""
    run_study(folder, plan, engine, go_on, Watcher())
    assert not folder.work.exists()
    assert not running(folder)
    return {trial.reason or "" for trial in read_run(folder, plan).trials}


def running(folder: StudyFolder) -> list[str]:
    """Processes that were started from this test's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(folder.root.parent) in words and "support.runs" not in words:
                found.append(f"{entry.name} {words}")
    return found


@pytest.mark.parametrize(
    ("program", "keys", "says"),
    [
        (
            "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.chdir('/')\n  "
            "time.sleep(600)\n os._exit(0)",
            {},
            "left running: ",
        ),
        (
            "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "[os.fork() for _ in range(6)]\ntime.sleep(600)",
            {"timeout": "0.5"},
            "not done after 0.5 s, and ended",
        ),
        ("while True: os.write(1, bytes(65536))", {"flood": '"4M"'}, "printed more than"),
        (
            "path = os.getcwd()\nos.chdir('/')\nos.rename(path, path + 'x')\n"
            "os.symlink(os.path.dirname(sys.argv[0]) + '/kept', path)\nsys.exit(3)",
            {},
            "exit code 3, expected 0",
        ),
        ("os.kill(os.getppid(), 9)\ntime.sleep(600)", {}, "the engine was killed by SIGKILL"),
        ("os.unlink(sys.argv[0])", {"executions": "2"}, "hostile does not exist. Fix: "),
    ],
    ids=["daemon", "64 that ignore SIGTERM", "flood", "its directory", "the engine", "itself"],
)
def test_a_program_that_attacks_fails_its_trial_and_leaves_nothing(
    folder: StudyFolder, engine: Engine, program: str, keys: dict[str, str], says: str
) -> None:
    kept = folder.root.parent / "kept"
    kept.mkdir()
    (kept / "file").touch()
    found = reasons(folder, engine, plan_of(folder, engine, program, **keys))
    assert any(says in reason for reason in found), found
    assert (kept / "file").exists()


@needs_root
def test_a_full_disk_is_named(folder: StudyFolder, engine: Engine) -> None:
    text = "with open('f', 'wb') as file:\n while True: file.write(bytes(1 << 20))"
    plan = plan_of(folder, engine, text, systems='kind = "tmpfs"\nsize = "16M"')
    found = reasons(folder, engine, plan)
    # Whoever is the first to see it: the watch, or the program.
    assert found
    assert all("nearly full" in reason or "No space left" in reason for reason in found), found


def test_a_server_that_dies_under_load_fails_the_trial_that_did_not_notice(
    folder: StudyFolder, engine: Engine
) -> None:
    server = "s.listen()\ns.accept()\nsys.exit('out of memory')"
    # A connection that nobody will accept is refused or reset when the server has ended.
    program = (
        "import contextlib, socket\n"
        "socket.socket(socket.AF_UNIX).connect(os.environ['AT'])\n"
        "with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:\n"
        "    one.connect(os.environ['AT'])\n"
        "    one.recv(1)\n"
    )
    plan = plan_of(
        folder, engine, f"{program}time.sleep(0.5)", server=server, env='{ AT = "{socket}" }'
    )
    assert reasons(folder, engine, plan) == {"the service ended with status 1: out of memory"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("during", ["initialise", "start", "command"])
def test_a_lab_that_is_ended_leaves_no_server(
    folder: StudyFolder, engine: Engine, state: Path, during: str, number: signal.Signals
) -> None:
    began, script = folder.root.parent / "began", folder.root.parent / "hang.py"
    hangs = f"import time\nopen({str(began)!r}, 'w').close()\ntime.sleep(600)"
    script.write_text(hangs)
    words = f'["{PYTHON}", "{script}"]'
    service = {"initialise": f"initialise = {words}", "start": f"ready = {{ command = {words} }}"}
    plan_of(
        folder,
        engine,
        hangs if during == "command" else "",
        server="s.listen()\nos.environ.clear()\ntime.sleep(600)",
        service=service.get(during, ""),
    )
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as lab:
        wait_until(began.exists, "it does not begin")
        lab.send_signal(number)
        lab.wait(PATIENCE_S)
    wait_until(lambda: not running(folder), f"still there: {running(folder)}")
    put_back_by_itself(state)
    assert not [path for path in folder.work.rglob("*") if not path.is_dir()]
    assert str(folder.root) not in Path("/proc/self/mountinfo").read_text()


@needs_root
def test_what_a_program_makes_immutable_is_named_with_what_mends_it(
    folder: StudyFolder, engine: Engine
) -> None:
    plan = plan_of(folder, engine, "open('kept', 'w').close()\nos.system('chattr +i kept')")
    with pytest.raises(NotRestoredError, match="/kept: Operation not permitted") as refused:
        run_study(folder, plan, engine, go_on, Watcher())
    (trial,) = read_run(folder, plan).trials
    assert "left what cannot be removed: " in (trial.reason or "")
    fix = str(refused.value).partition("Fix: ")[2].partition(";")[0]
    assert f"chattr -R -f -i -a {folder.work}" in fix
    subprocess.run(fix.split(), check=True)
    hosts.close()  # At its end the agent tries again.
    assert recover() == []
    folder.work.rmdir()


@pytest.fixture
def descriptors() -> Iterator[None]:
    """As many as a login has, and what it starts."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


DIGS = """
if os.path.exists({flag!r}):
    for _ in range({levels}):
        os.mkdir("d")
        os.chdir("d")
    with open({began!r}, "w") as file:
        file.write(str(os.getppid()))
    while os.path.exists({flag!r}):
        time.sleep(0.05)
"""


@needs_root
@pytest.mark.parametrize("levels", [1_100, 5_000])
def test_a_killed_run_is_put_back_however_deep_a_program_has_dug_and_goes_on(
    folder: StudyFolder,
    engine: Engine,
    state: Path,
    levels: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    above, key = folder.root.parent, "vm.admin_reserve_kbytes"
    flag, began = above / "flag", above / "began"
    flag.touch()
    before = sysctls.read(key)
    plan = plan_of(
        folder,
        engine,
        DIGS.format(flag=str(flag), began=str(began), levels=levels),
        systems=f'sysctl = {{ "{key}" = {int(before) + 1} }}',
    )
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as lab:
        wait_until(lambda: began.exists() and began.read_text(), "it does not begin")
        trial = int(began.read_text())
        # Neither shall have the time to clean up.
        os.kill(trial, signal.SIGSTOP)
        lab.kill()
        lab.wait(PATIENCE_S)
        os.kill(trial, signal.SIGKILL)
    flag.unlink()
    put_back_by_itself(state)
    assert restore() == ExitCode.DONE
    assert sysctls.read(key) == before
    assert not capsys.readouterr().err
    assert not [*folder.work.iterdir()]
    assert check(folder.root) == ExitCode.DONE
    assert reasons(folder, engine, plan) == {""}


@needs_root
def test_few_descriptors_and_many_levels_end_no_run(
    folder: StudyFolder, engine: Engine, descriptors: None
) -> None:
    digs = "for _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    plan = plan_of(folder, engine, digs)
    assert reasons(folder, engine, plan) == {""}
    assert restore() == check(folder.root) == ExitCode.DONE
