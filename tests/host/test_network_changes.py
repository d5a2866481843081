"""Changes of the network: taken back if they are there and ours, and left alone otherwise."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host import processes, sysctls
from tiltyard.host.commands import run
from tiltyard.host.ledger import Ledger
from tiltyard.host.links import inside, namespace_path
from tiltyard.host.op import MakeNetwork
from tiltyard.host.steps import Steps

SLEEPS = "import time; print(flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"


def started(script: str, secret_file: Path) -> subprocess.Popen[bytes]:
    """A process that was told of a secret file, and has come so far as to say something."""
    argv = (sys.executable, "-c", script, str(secret_file))
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


@pytest.fixture
def steps(state: Path) -> Iterator[Steps]:
    with Ledger() as ledger:
        yield Steps(ledger)


@needs_root
def test_a_namespace_goes_with_the_processes_in_it(steps: Steps) -> None:
    made = MakeNetwork(name=steps.ledger.name("near"))
    steps.take([made])
    with subprocess.Popen((*inside(made.name), "sleep", "60")) as process:
        wait_until(lambda: run(("ip", "netns", "pids", made.name)).stdout, "nobody is in it")
        steps.undo()
    assert process.returncode == -15
    assert not namespace_path(made.name).exists()


@needs_root
def test_a_namespace_that_was_being_made_goes_too(steps: Steps) -> None:
    made = MakeNetwork(name=steps.ledger.name("near"))
    steps.take([made])
    subprocess.run(("umount", namespace_path(made.name)), check=True)
    steps.undo()
    assert not namespace_path(made.name).exists()


@needs_root
def test_a_namespace_that_is_there_is_somebody_elses(steps: Steps) -> None:
    made = MakeNetwork(name=steps.ledger.name("near"))
    subprocess.run(("ip", "netns", "add", made.name), check=True)
    with pytest.raises(RefusedError, match="is there already"):
        steps.take([made])
    assert namespace_path(made.name).exists()
    subprocess.run(("ip", "netns", "del", made.name), check=True)


@pytest.mark.parametrize("name", ["mine", "tiltyard-/../mine"])
def test_a_namespace_of_somebody_else_is_refused(steps: Steps, name: str) -> None:
    with pytest.raises(TiltyardError, match="is no name of ours"):
        steps.take([MakeNetwork(name=name)])


def test_what_is_not_found_any_more_is_waited_for_until_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that ends: its arguments go before its files are closed."""
    monkeypatch.setattr(processes, "_ENDS_S", 0.1)
    with started(STUBBORN, tmp_path / "any") as process:
        found = iter([[process.pid]])
        assert processes.end_processes(lambda: next(found, []), "x") == str(process.pid)
    assert process.returncode == -9


@needs_root
def test_what_a_namespace_has_for_itself_is_told_by_the_kernel() -> None:
    own = sysctls.of_a_namespace()
    assert {"net.ipv4.tcp_rmem", "net.core.somaxconn"} <= own
    assert not {"net.core.netdev_max_backlog", "net.core.busy_read"} & own
