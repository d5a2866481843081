"""Each test has a ledger of its own, and leaves nothing behind on the host."""

import pytest

from support.hosts import nothing_is_left, state
from tiltyard.executors.engine import Engine

__all__ = ["nothing_is_left", "state"]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The real one; it fails, and does not skip, if it was not built."""
    return Engine.find()
