"""Reports that several tests look at, rendered once."""

import pytest

from support.pages import page_of
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings


@pytest.fixture(scope="session")
def findings() -> Findings:
    """The demonstration: three systems, iozone and postmark, ten blocks, analysed for real."""
    plan, record = synthetic_study(
        workloads=("iozone", "postmark"), effects={"xfs": 1.06, "btrfs": 0.8}, noise=0.03
    )
    return analyse(plan, record)


@pytest.fixture(scope="session")
def page(findings: Findings) -> str:
    return page_of(findings)
