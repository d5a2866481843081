"""The findings that the pictures of these tests are drawn from."""

import pytest

from support.across import pooled_studies
from support.in_print import printed_grids, printed_messages, printed_tests
from support.pictured import measured
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings


@pytest.fixture(scope="session")
def findings() -> Findings:
    """Three workloads, small enough for golden files that a person can read."""
    return measured()


@pytest.fixture(scope="session")
def studies(findings: Findings) -> dict[str, Findings]:
    """What was measured here, and printed studies: grids, courses with long names, tests with
    deviation or error, and studies that are pooled. Together they have every chart."""
    made = {"grids": printed_grids(), "messages": printed_messages(), "tests": printed_tests()}
    printed = {name: analyse_collection(collection) for name, collection in made.items()}
    return {"measured": findings, **printed, "pooled": pooled_studies()}
