"""Each test has a ledger of its own, and leaves nothing behind on the host."""

from collections.abc import Iterator

import pytest

from support.hosts import nothing_is_left, state
from tiltyard.host.ledger import Ledger
from tiltyard.host.steps import Steps

__all__ = ["nothing_is_left", "state"]


@pytest.fixture
def steps(state: object) -> Iterator[Steps]:
    with Ledger() as ledger:
        yield Steps(ledger)
