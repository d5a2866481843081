"""Intervals that were stretched say so wherever they are printed."""

import math

import pytest

from support.publications import PUBLISHED
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.statements.numbers import is_extended, marks
from tiltyard_published.read import read_publication


@pytest.fixture(scope="module")
def kernels() -> Findings:
    return analyse_collection(read_publication(PUBLISHED / "linux-3.13").collection)


def pairs(findings: Findings) -> list[Comparison]:
    found = {
        id(pair): pair
        for workload in findings.workloads
        for of in (workload.index, *workload.by_metric, *workload.cells)
        for pair in of.comparisons
    }
    return [*found.values(), *findings.overall]


def test_intervals_that_were_widened_are_marked_and_counted(kernels: Findings) -> None:
    marked = [pair for pair in pairs(kernels) if pair.extended]
    assert marked
    for pair in pairs(kernels):
        widened = (
            pair.verdict == "undecided"
            and pair.low is not None
            and pair.high is not None
            and pair.p is not None
            and is_extended(pair.low, pair.high, pair.p, pair.level)
        )
        assert pair.extended == widened
    (notice,) = [one.text for one in kernels.notices if "widened" in one.text]
    assert notice.startswith(f"{len(marked)} intervals were widened to end at no difference")
    assert '"extended":true' in kernels.model_dump_json()


def test_an_end_that_is_not_in_its_interval_is_open_in_json() -> None:
    assert marks(0.5, 1.0, 0.01, 0.99, "slower") == {
        "open_low": False,
        "open_high": True,
        "extended": False,
    }
    assert marks(0.5, 1.0, 0.001, 0.99, "undecided")["extended"]
    assert not marks(0.5, 1.0, 0.2, 0.95, "undecided")["extended"]
    assert marks(None, None, None, 0.95, "undecided") == {}


def test_a_comparison_from_the_other_side_has_its_open_end_there(kernels: Findings) -> None:
    pair = pairs(kernels)[0].model_copy(
        update={"verdict": "slower", "low": 0.5, "high": 1.0, "open_high": True}
    )
    other = turned(pair)
    assert (other.open_low, other.open_high) == (True, False)
    assert math.isclose(other.low or 0.0, 1.0)
