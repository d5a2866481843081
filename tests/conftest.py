"""What holds for all tests."""

from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

pytest_plugins: Final = ["pytester", "support.stolen"]

settings.register_profile(
    "the same everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples each time, however long a busy machine takes for them."""
settings.load_profile("the same everywhere")

OF_THE_HOST: Final = frozenset(
    {"calibration", "cli", "conformance", "executors", "host", "house", "installing", "oracle"}
    | {"run", "systems", "tuning"}
)
"""Rooms whose tests change this host or compare its state; one process runs them in order."""


class Rooms(LoadScopeScheduling):  # type: ignore[misc]
    """With ``-n 2`` one process runs the tests of the host in order; the other has the rest."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "host" if OF_THE_HOST.intersection(file.split("/")[1:2]) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Rooms:
    """How tests are shared out between processes."""
    return Rooms(config, log)
