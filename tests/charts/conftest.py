"""The findings that the pictures of these tests are drawn from."""

import pytest

from support.specimen import findings as specimen
from tiltyard.analysis.model import Findings


@pytest.fixture(scope="session")
def findings() -> Findings:
    """Two tests of iozone and postmark, small enough for golden files that a person can read."""
    return specimen(blocks=6, tests=("write", "random read"))
