"""The server as a process: it listens or says why not, and ends when it is let go."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import PATIENCE_S, wait_until
from tiltyard.errors import TiltyardError
from tiltyard.executors import far
from tiltyard.executors.engine import Engine
from tiltyard.executors.far import FarEngine


def script(text: str) -> tuple[str, ...]:
    """A server of another sort."""
    return (sys.executable, "-c", text)


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has reaped has ended all the same."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state not in "ZX"


def says(line: str) -> str:
    return f"import sys; print('{line}', flush=True); sys.stdin.read()"


LISTENS = '{"type":"listening","data":{"addresses":["[::1]:4711"],"engine":"9","protocol":%d}}'


def test_the_engine_serves_until_it_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "_ENDS_S", PATIENCE_S)
    served = ("serve", "--until-eof", "--bind", "127.0.0.1", "--port", "0")
    engine = FarEngine((str(Engine.find().path), *served))
    assert engine.port > 0
    assert engine.listening.engine == Engine.find().describe().engine
    process = engine._process
    engine.stop()
    assert process.returncode == 0
    engine.stop()


def test_the_port_of_an_address_in_brackets() -> None:
    engine = FarEngine(script(says(LISTENS % 1)))
    assert engine.port == 4711
    engine.stop()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit('port 1: Permission denied')", "port 1: Permission denied"),
        ("import sys; sys.exit(3)", "it ended with status 3"),
        (says("Welcome!"), "Welcome!"),
        (says(LISTENS % 99), "speaks protocol 99, this lab speaks 1"),
        ("import os; os.execlp('head', 'head', '-c300M', '/dev/zero')", "says more than 1 MiB"),
        (
            "import os; os.dup2(2, 1); os.execlp('head', 'head', '-c300M', '/dev/zero')",
            r"does not listen: \0{500}$",
        ),
    ],
)
def test_one_that_does_not_listen_says_why(text: str, message: str) -> None:
    with pytest.raises(TiltyardError, match=message):
        FarEngine(script(text))


def test_one_that_says_nothing_and_goes_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lets go of its output, and would end only with its input."""
    monkeypatch.setattr(far, "_ENDS_S", 0.1)
    silent = "import os, sys; os.close(1); sys.stdin.read(); os._exit(0)"
    with pytest.raises(TiltyardError, match="does not listen: it says nothing"):
        FarEngine(script(silent))


def test_one_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "_BEGINS_S", 0.1)
    with pytest.raises(TiltyardError, match=r"does not listen after 0\.1 s"):
        FarEngine(script("import sys; sys.stdin.read()"))


def test_one_that_does_not_end_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "_ENDS_S", 0.1)
    stubborn = f"{says(LISTENS % 1)}; import signal, time; time.sleep(60)"
    engine = FarEngine(script(stubborn))
    engine.stop()
    assert engine._process.returncode in (-signal.SIGTERM, -signal.SIGKILL)


def test_it_ends_when_the_lab_is_killed() -> None:
    lab = (
        "import sys, time\n"
        "from tiltyard.executors.far import FarEngine\n"
        f"far = FarEngine({script(says(LISTENS % 1))!r})\n"
        "print(far._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen((sys.executable, "-c", lab), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert runs(pid)
        process.kill()
    wait_until(lambda: not runs(pid), "it goes on")
