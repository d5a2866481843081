"""Services of systems: real servers, started for a turn, stopped and wiped, however they behave."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from support.hosts import needs_root, used_s
from support.looks import mounts_at
from support.patience import wait_until
from tiltyard.errors import HostLacksError, InterruptedRunError, TiltyardError
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System, Up
from tiltyard.systems.service.settings import ServiceSettings

PYTHON = "/usr/bin/python3"
SERVES = (PYTHON, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "{dir}")
LISTENS = """
import socket, sys, os, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
"""
POSTGRES = Path("/usr/lib/postgresql/15/bin")
Make = Callable[..., System]

pytestmark = pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 of the system")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes systems with a service; nothing of them is left up."""
    with Ledger() as ledger:

        def make(
            service: dict[str, Any],
            check: Callable[[], None] = lambda: None,
            name: str = "directory",
            **settings: object,
        ) -> System:
            site = Site(root=tmp_path, work=tmp_path, ledger=ledger, check=check)
            given = {"directory": str(tmp_path)} if name == "directory" else settings
            return kind(name).system("one", {**given, "service": service}, site)  # type: ignore[dict-item]

        yield make


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    """No process carries a mark of ours when a test has ended."""
    yield
    wait_until(lambda: not marked(), f"still there: {marked()}")


def marked() -> list[str]:
    """Commands of processes below a keeper, and of keepers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            is_service = b"TILTYARD_PROCESS=tiltyard-" in environment and b"-service" in environment
            if is_service or (" keep tiltyard-" in words and "-service" in words):
                found.append(f"{entry.name} {words}")
    return found


def lives(pid: int) -> bool:
    """Whether it is there, and not only its number until somebody asks for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def answers(up: Up) -> bool:
    with socket.create_connection(("127.0.0.1", int(up.variables["port"])), 5):
        return True


def script(text: str, *words: str) -> list[str]:
    return [PYTHON, "-c", text, *words]


def test_a_server_is_up_for_its_turn_and_has_a_port_and_a_secret_of_its_own(make: Make) -> None:
    system = make(
        {
            "start": [*SERVES],
            "files": {"conf/one.txt": "{port} {{port}} ${port} { {secret} }"},
            "initialise": [["sh", "-c", "id -u > {dir}/who; pwd > {dir}/where"]],
        }
    )
    seen = []
    for _ in range(2):
        up = system.bring_up()
        home = Path(up.variables["service_dir"])
        port, secret = up.variables["port"], up.variables["secret"]
        seen.append((port, secret))
        assert answers(up)
        assert not up.lost()
        text = f"{port} {{port}} ${{port}} {{ {secret} }}"
        assert (home / "conf/one.txt").read_text() == text
        assert (home / "where").read_text().strip() == str(home)
        assert home.owner() == ("nobody" if os.geteuid() == 0 else Path.home().owner())
        assert len(up.variables["socket"]) < 100
        assert secret not in json.dumps([each.model_dump() for each in up.commands])
        assert secret not in json.dumps(up.facts)
        assert used_s(up.servers()) >= 0
        assert len(up.servers()) >= 2
        system.take_down()
        assert not home.exists()
        with pytest.raises(OSError, match="refused"):
            answers(up)
    assert seen[0][1] != seen[1][1]
    system.take_down()


@needs_root
@pytest.mark.skipif(not POSTGRES.is_dir(), reason="not installed: apt-get install postgresql-15")
def test_postgresql_on_a_fresh_ext4_keeps_its_data_over_a_refresh(make: Make) -> None:
    service = {
        "initialise": [
            f"{POSTGRES}/initdb",
            "-D",
            "{dir}/data",
            "-U",
            "bench",
            "-A",
            "trust",
            "-N",
        ],
        "files": {"server.conf": "listen_addresses = ''\nfsync = off\n"},
        "start": [
            *(f"{POSTGRES}/postgres", "-D", "{dir}/data", "-p", "{port}", "-k", "{dir}"),
            *("-c", "config_file={dir}/server.conf"),
        ],
        "ready": {"command": [f"{POSTGRES}/pg_isready", "-h", "{dir}", "-p", "{port}"]},
        "stop": "SIGINT",
    }
    system = make(service, name="loop-image", filesystem="ext4", backing={"image": "256M"})
    up = system.bring_up()

    def ask(query: str) -> str:
        where = ("-h", up.variables["service_dir"], "-p", up.variables["port"], "-U", "bench")
        command = (POSTGRES / "psql", "-XAtq", "-d", "postgres", *where, "-c", query)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert ask("show fsync") == "off"
    ask("create table kept as select 7 as answer")
    assert mounts_at(Path(up.variables["service_dir"]))[-1].type == "ext4"
    before = used_s(up.servers())
    ask("select count(*) from generate_series(1, 2000000)")
    assert used_s(up.servers()) > before, "a backend that has ended is counted"
    system.refresh()
    assert ask("select answer from kept") == "7"
    system.take_down()


@pytest.mark.parametrize(
    ("service", "says"),
    [
        (
            {"start": ["sh", "-c", "echo no {secret} today >&2; exit 3"], "ready": {"port": 1}},
            r"ended with status 3: no \{secret\} today$",
        ),
        (
            {
                "start": ["sh", "-c", "echo waits; sleep 100"],
                "timeout": 0.5,
                "ready": {"path": "/x"},
            },
            r"not ready after 0.5 s: waits$",
        ),
        (
            {"start": [*SERVES], "initialise": ["sh", "-c", "echo half; echo broken; exit 1"]},
            r"initialise: sh -c .*: ended with status 1: half \| broken$",
        ),
        (
            {"start": [*SERVES], "initialise": ["sleep", "100"], "timeout": 0.5},
            r"initialise: sleep 100: not done after 0.5 s, so it was killed$",
        ),
        (
            {"start": ["sh", "-c", "kill -9 $$"], "ready": {"port": "{port}"}},
            r"was killed by signal 9: it said nothing$",
        ),
        ({"start": ["/nowhere/server", "{port}"]}, r'there is no program "/nowhere/server"'),
        (
            {"start": ["sh", "-c", "exit 0"], "ready": {"path": "{socket}"}},
            r"ended with status 0: it said nothing$",
        ),
    ],
)
def test_one_that_does_not_come_up_says_why_and_leaves_nothing(
    make: Make, tmp_path: Path, service: dict[str, Any], says: str
) -> None:
    system = make(service)
    with pytest.raises(TiltyardError, match=says):
        system.bring_up()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "behaves",
    [
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); os.chdir('/')",
        "[os.fork() for _ in range(6)]",
        "os.environ.clear(); os.execv(sys.executable, [sys.executable, '-c', "
        "'import time; time.sleep(1000)'])",
        "os.system('yes & yes >&2 & head -c 9999999 /dev/urandom &')",
    ],
    ids=["ignores SIGTERM", "daemon", "64 processes", "no environment", "floods"],
)
def test_none_outlives_its_turn(make: Make, tmp_path: Path, behaves: str) -> None:
    text = f"{LISTENS}\n{behaves}\ntime.sleep(1000)"
    system = make({"start": script(text, "{socket}"), "stop_timeout": 0.3})
    up = system.bring_up()
    wait_until(lambda: not up.lost(), "it serves")
    pids = up.servers()
    system.take_down()
    assert not [pid for pid in pids if lives(pid)]
    assert not list(tmp_path.iterdir())


def catches(pid: int, number: signal.Signals) -> bool:
    (caught,) = re.findall(r"SigCgt:\t(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(caught, 16) >> number - 1 & 1)


def test_one_that_ends_within_its_turn_is_told_with_its_last_words(make: Make) -> None:
    ends = "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit('out of order'))"
    system = make({"start": script(f"import sys\n{ends}\n{LISTENS}\ntime.sleep(1000)", "{socket}")})
    up = system.bring_up()
    assert not up.lost()
    (pid,) = (each for each in up.servers() if catches(each, signal.SIGUSR1))
    os.kill(pid, signal.SIGUSR1)
    wait_until(up.lost, "it ends")
    assert up.lost() == "the service ended with status 1: out of order"
    system.take_down()


def test_an_interrupt_while_it_comes_up_stops_it(make: Make) -> None:
    began = time.monotonic()

    def interrupt() -> None:
        if time.monotonic() - began > 1.0:
            raise InterruptedRunError("stopped")

    system = make({"start": ["sleep", "100"], "ready": {"path": "/x"}}, interrupt)
    with pytest.raises(InterruptedRunError):
        system.bring_up()


def test_what_is_missing_is_found_before_the_run(make: Make) -> None:
    service = {"start": ["no-such-server", "{port}"], "user": "no-such-user"}
    problems = [each.text for each in make(service).problems()]
    assert 'service: there is no program "no-such-server"' in problems
    assert any("no-such-user" in each for each in problems)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"start": []}, "at least 1 item"),
        ({"start": ["a", "{portt}"]}, r'"\{portt\}" stands for nothing; there are \{dir\}'),
        ({"start": ["a"]}, "it cannot be seen when it serves"),
        ({"files": {"../x": ""}}, r"no file in \{dir\}"),
        ({"files": {"/etc/x": ""}}, r"no file in \{dir\}"),
        ({"stop": "TERM"}, 'no signal, such as "SIGINT"'),
        ({"ready": {}}, "give one of command, port and path"),
        ({"ready": {"port": "http"}}, r'no port; give a number, or "\{port\}"'),
        ({"env": {"A": "{other}"}}, r'"\{other\}" stands for nothing'),
    ],
)
def test_settings_that_are_wrong(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ServiceSettings.model_validate({"start": ["server", "{port}"], **changes})


def test_a_directory_that_is_too_deep_for_sockets_is_refused(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("x" * 80)))
    with pytest.raises(HostLacksError, match="too long for sockets; TMPDIR names another"):
        make({"start": [*SERVES]})
