"""The findings that the pictures of these tests are drawn from."""

import pytest

from support.specimen import findings as specimen
from tiltyard.analysis.model import Findings

WORKLOADS = ("iozone", "postmark", "tcp_rr")
"""A map, a single value, and a course: together every chart is drawn."""


@pytest.fixture(scope="session")
def findings() -> Findings:
    """Three workloads, small enough for golden files that a person can read."""
    return specimen(blocks=6, workloads=WORKLOADS, tests=("write", "random read"))
