"""Fixtures of the styles' tests."""

import pytest

from support.told_findings import STUDIES, findings_of
from tiltyard.analysis.model import Findings


@pytest.fixture(params=STUDIES)
def findings(request: pytest.FixtureRequest) -> Findings:
    """Findings of every sort."""
    return findings_of(request.param, 1)


@pytest.fixture(params=[(name, seed) for name in STUDIES for seed in (1, 2, 3)], ids=str)
def seeded(request: pytest.FixtureRequest) -> Findings:
    """The same with several seeds."""
    return findings_of(*request.param)
