"""What holds for all tests."""

from typing import Final

import pytest
from hypothesis import HealthCheck, settings

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
    {"calibration", "cli", "conformance", "executors", "host", "house", "oracle", "run", "systems"}
    | {"tuning"}
)
"""Rooms whose tests change this host or compare its state; one process runs them in order."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``-n 2`` the rooms of the host are one group; elsewhere a module is one.

    First, because the plugin reads the groups in its own hook.
    """
    for item in items:
        room = item.path.parent.relative_to(item.config.rootpath / "tests").parts[:1]
        group = "host" if OF_THE_HOST.intersection(room) else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
