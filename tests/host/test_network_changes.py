"""Changes of the network: taken back if they are there and ours, and left alone otherwise."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host import sysctls
from tiltyard.host.ledger import Ledger
from tiltyard.host.links import inside, namespace_path
from tiltyard.host.op import MakeNetwork
from tiltyard.host.place import HERE
from tiltyard.host.steps import Steps


@pytest.fixture
def steps(state: Path) -> Iterator[Steps]:
    with Ledger() as ledger:
        yield Steps(ledger)


@needs_root
def test_a_namespace_goes_with_the_processes_in_it(steps: Steps) -> None:
    made = MakeNetwork(name=steps.ledger.name("near"))
    steps.take([made])
    with subprocess.Popen((*inside(made.name), "sleep", "60")) as process:
        wait_until(lambda: HERE.run(("ip", "netns", "pids", made.name)).stdout, "nobody is in it")
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


@needs_root
def test_what_a_namespace_has_for_itself_is_told_by_the_kernel() -> None:
    own = sysctls.of_a_namespace()
    assert {"net.ipv4.tcp_rmem", "net.core.somaxconn"} <= own
    assert not {"net.core.netdev_max_backlog", "net.core.busy_read"} & own
