"""What holds for all tests: those of the core, and those beside each plug-in.

``TILTYARD_PLUGINS=core`` runs those of the core with the core alone.
"""

import os
from collections.abc import Iterator
from pathlib import Path
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
    {"calibrate", "conformance", "host", "run", "tuning"}
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
ROOT: Final = Path(__file__).parent
CORE_ALONE: Final = "core" in os.environ.get("TILTYARD_PLUGINS", "").split(",")
NEED_PLUGINS: Final = {
    "analysis/test_bins.py": "readers",
    "analysis/test_one_logic.py": "published",
    "analysis/test_run_times.py": "press",
    "charts/test_every_picture.py": "press",
    "charts/test_golden.py": "press",
    "cli/test_import.py": "readers",
    "cli/test_report.py": "press",
    "frozen": "published readers press",
    "house/test_generated.py": "calibrate press published readers",
    "house/test_man_pages.py": "calibrate press published",
    "importers/test_alone.py": "readers",
    "importers/test_company.py": "readers",
    "importers/test_disowned.py": "readers",
    "importers/test_errors_name_places.py": "readers",
    "importers/test_hostile.py": "readers",
    "importers/test_live.py": "readers",
    "importers/test_public_cases.py": "readers",
    "importers/test_recognised.py": "readers",
    "importers/test_repeated.py": "readers",
    "importers/test_values.py": "readers",
    "report/styles/test_claims.py": "press",
    "report/styles/test_deltas.py": "press",
    "report/styles/test_styles.py": "press",
    "report/styles/test_wording.py": "press published",
    "report/test_beside_each.py": "press published",
    "report/test_data_files.py": "published",
    "report/test_display_names.py": "published",
    "report/test_edition.py": "press",
    "report/test_house.py": "press",
    "report/test_marks.py": "press published",
    "report/test_studies.py": "press",
    "report/test_title_case.py": "published",
    "report/test_truth.py": "press",
    "study/test_ready_studies.py": "published",
    "workloads/test_phoronix.py": "readers",
    "workloads/test_ready.py": "readers",
}
"""Tests of the core that also need plug-ins of ours, in a folder or a file → which; they are not
collected where the core is alone. This list only gets shorter."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Nothing that needs a plug-in, where the core is alone."""
    path = collection_path.relative_to(ROOT).as_posix()
    is_of_plugins = path == "plugins" or path.removeprefix("tests/") in NEED_PLUGINS
    return True if CORE_ALONE and is_of_plugins else None


def within_tests(nodeid: str) -> str:
    """Room and file of a test: ``run/test_placement.py``; of a plug-in its name is the room."""
    first, _, inside = nodeid.partition("::")[0].partition("/")
    return inside if first == "tests" else inside.replace("/tests/", "/", 1)


class Rooms(LoadScopeScheduling):  # type: ignore[misc]
    """One process runs the tests of the host in order, and then helps the others."""

    def _split_scope(self, nodeid: str) -> str:
        file, inside = nodeid.partition("::")[0], within_tests(nodeid)
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
