"""What printed values do along an axis: the magazine's observations on record size."""

import pytest

from support.publications import PUBLISHED
from tiltyard.analysis.collected import analyse_collection
from tiltyard_published.read import read_publication

OBSERVED = {
    "write": ("insensitive",),
    "re-write": ("insensitive",),
    "random write": ("growth", "saturation"),
    "record re-write": ("change", "saturation"),
    "read": ("insensitive",),
    "re-read": ("insensitive",),
    "random read": ("growth", "saturation"),
    "backwards read": ("growth", "saturation"),
    "strided read": ("growth", "saturation"),
    "fread": ("insensitive",),
    "freread": ("insensitive",),
}
"""Metric → the kinds of sentence that are what its authors wrote of it."""


@pytest.fixture(scope="module")
def found():
    findings = analyse_collection(read_publication(PUBLISHED / "iozone-magazine").collection)
    return [one for workload in findings.workloads for one in workload.observations]


@pytest.mark.parametrize("metric", OBSERVED)
def test_what_the_article_observes_is_found(found, metric):
    own = [one for one in found if one.sentence.startswith(f"{metric}: ")]
    assert own
    assert {one.kind for one in own} <= {*OBSERVED[metric]}


def test_a_rise_is_said_with_its_steps_and_values(found):
    (told,) = [one for one in found if one.sentence.startswith("random write: rises")]
    assert "from 1 MiB to 16 MiB record on Reiser4" in told.sentence
    assert "10 values a level): it rises at each of 3 steps, by 4 to 15 %" in told.sentence
    assert "one-sided Welch's t of each step against 2 %" in told.evidence


def test_values_without_errors_make_no_course():
    findings = analyse_collection(read_publication(PUBLISHED / "netperf-rhel6").collection)
    assert not any(workload.observations for workload in findings.workloads)
