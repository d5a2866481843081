"""What holds for all tests."""

from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tiltyard.host.host import hosts

pytest_plugins: Final = ["pytester", "support.stolen", "support.watcher"]

settings.register_profile(
    "the same everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples each time, however long a busy machine takes for them."""
settings.load_profile("the same everywhere")

OF_THE_HOST: Final = frozenset(
    {"calibration", "conformance", "host", "run", "tuning"}
    | {"cli/test_command_line.py", "cli/test_compare_commands.py", "cli/test_forms.py"}
    | {"cli/test_small_verbs.py", "cli/test_tuning.py", "second_host/test_kills.py"}
    | {f"systems/test_{name}.py" for name in ("boot_there", "ends", "there", "untrusted_inputs")}
    | {f"systems/test_{name}.py" for name in ("every_line", "hosts", "loopback", "pair")}
    | {f"systems/test_{name}.py" for name in ("remote", "tuned")}
)
"""Rooms and files whose tests change this host or compare its state, kernel parameters too; one
process runs them in order: what only starts programs and looks at its own files is not here."""
OF_SYSTEMS: Final = "systems"
"""The other tests of a room, which change and compare only what they mount and make: another
process runs them."""
OF_THEMSELVES: Final = ("run/test_placement.py", "run/test_remote.py")
"""Files of those rooms that look at nothing but what they have made."""
LONG: Final = (*("second_host/test_reboots.py", "second_host/test_power_cuts.py", *OF_THEMSELVES),)
"""The longest files but those: at the end all processes shall have something to do."""


class Rooms(LoadScopeScheduling):  # type: ignore[misc]
    """One process runs the tests of the host in order, and then helps the others."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        inside = file.partition("/")[2]
        room = inside.partition("/")[0]
        if OF_THE_HOST & {inside, room} and inside not in OF_THEMSELVES:
            return "host"
        return room if room == OF_SYSTEMS else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        long = (f"tests/{name}" for name in LONG)
        firsts = ("host", OF_SYSTEMS, *long)
        first = next((name for name in firsts if name in self.workqueue), None)
        if first:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Rooms:
    """How tests are shared out between processes."""
    return Rooms(config, log)


@pytest.fixture(autouse=True)
def _hosts_are_asked_anew() -> Iterator[None]:
    """What stands for a host is each test's own, and so is the state directory of this one."""
    yield
    hosts.close()
