"""What holds for all tests."""

from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

pytest_plugins: Final = ["pytester", "support.shared_cpus", "support.stolen"]

settings.register_profile(
    "the same everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples each time, however long a busy machine takes for them."""
settings.load_profile("the same everywhere")

OF_THE_HOST: Final = frozenset(
    {"calibration", "conformance", "host", "run", "systems", "tuning"}
    | {"cli/test_command_line.py", "cli/test_compare_commands.py", "cli/test_forms.py"}
    | {"cli/test_small_verbs.py", "cli/test_tuning.py"}
)
"""Rooms and files whose tests change this host or compare its state; one process runs them in
order: what only starts programs and looks at its own files is not here."""
OF_THEMSELVES: Final = ("run/test_placement.py", "run/test_remote.py")
"""Files of those rooms that look at nothing but what they have made."""
LONG: Final = (
    *("second_host/test_reboots.py", "second_host/test_power_cuts.py"),
    *("second_host/test_kills.py", *OF_THEMSELVES),
)
"""The longest files but those of the host: at the end both processes shall have something to do."""


class Rooms(LoadScopeScheduling):  # type: ignore[misc]
    """With ``-n 2`` one process runs the tests of the host in order, and then helps the other."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        inside = file.partition("/")[2]
        of_host = OF_THE_HOST & {inside, inside.partition("/")[0]}
        return "host" if of_host and inside not in OF_THEMSELVES else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        long = (f"tests/{name}" for name in LONG)
        first = next((name for name in ("host", *long) if name in self.workqueue), None)
        if first:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Rooms:
    """How tests are shared out between processes."""
    return Rooms(config, log)
