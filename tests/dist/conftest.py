"""One wheel for all tests of this room, packed around the engine that the other tests use."""

import pytest

from release.python import build_wheel
from support.hosts import nothing_is_left, state
from tiltyard.executors.engine import Engine

__all__ = ["nothing_is_left", "state"]
"""Installed programs change the host as any other, and nothing of it is left."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(Engine.find().path, tmp_path_factory.mktemp("wheel"))
