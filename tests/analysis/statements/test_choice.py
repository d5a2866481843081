"""From tests to sentences: correction, grounds, precedence, merging, number of sentences."""

import dataclasses

import numpy as np
import pytest

from support.observed import observations_of, of_kind
from tiltyard.analysis.statements.evidence import Candidate, Result, sample
from tiltyard.analysis.statements.registry import STATEMENTS, Made, accept, select, shown_as
from tiltyard.analysis.statements.statement import Statement

SMALL = dataclasses.replace(shown_as("further finding")[0], name="small", correction="family")
SAME = dataclasses.replace(SMALL, name="same", correction="sameness")


def claim(subject: str, size: float = 0.1, **fields: object) -> Candidate:
    told = Candidate(
        subject=(subject,),
        place=subject,
        metric=None,
        systems=("a",),
        blocks=10,
        size=size,
        sentence=f"{subject} differs",
        evidence="a test",
    )
    return dataclasses.replace(told, **fields)  # type: ignore[arg-type]


def made(p: float, told: Candidate | None, kind: Statement = SMALL, workload: str = "w") -> Made:
    return Made(kind, workload, Result(p, told))


def sentences(*tests: Made) -> list[str]:
    return [one.sentence for own in select(accept(tests)).values() for one in own]


def test_tests_without_a_sentence_count_in_the_correction():
    lone = made(0.004, claim("x"))
    assert sentences(lone) == ["x differs."]
    assert sentences(lone, *(made(0.5, None) for _ in range(12))) == []


def test_all_workloads_are_one_family():
    others = (made(0.5, None, workload=f"w{place}") for place in range(12))
    assert sentences(made(0.004, claim("x")), *others) == []


def test_intervals_are_made_for_having_been_selected():
    """Two told of forty: each interval has an error rate of 5 % · 2 / 40."""
    asked = []

    def at(alpha: float) -> Candidate:
        asked.append(alpha)
        return claim("x", sentence="x by an interval of its level")

    others = (made(0.5, None) for _ in range(38))
    found = sentences(made(1e-5, claim("x", at=at)), made(1e-5, claim("y")), *others)
    assert "x by an interval of its level." in found
    assert asked == [pytest.approx(0.05 * 2 / 40)]


def test_what_its_corrected_interval_does_not_show_is_not_told():
    """And the others are then fewer: their intervals are made anew."""
    asked = []

    def at(alpha: float) -> Candidate:
        asked.append(alpha)
        return claim("y")

    lost = claim("x", at=lambda _: None)
    assert sentences(made(1e-5, lost), made(1e-5, claim("y", at=at))) == ["y differs."]
    assert asked == [pytest.approx(0.05), pytest.approx(0.025)]


def test_a_test_rejects_at_one_percent_at_most():
    assert sentences(made(0.02, claim("x"))) == []


def test_a_claim_that_needs_grounds_waits_for_them():
    flat = made(1.0, claim("flat", needs=("moves",)), SAME)
    moving = claim("moving", grounds=("moves",))
    assert sentences(flat) == []
    assert sentences(flat, made(0.5, moving)) == []
    assert sentences(flat, made(0.5, moving, workload="other")) == []
    assert set(sentences(flat, made(1e-5, moving))) == {"flat differs.", "moving differs."}


def test_what_is_told_once_is_not_told_again():
    first = claim("cliff", covers=(("course",), ("flat",)))
    assert sentences(
        made(1e-5, first),
        made(1e-5, claim("growth", size=9.0, covers=(("course",),))),
        made(1e-5, claim("sameness", covers=(("flat",),))),
    ) == ["cliff differs."]


def test_places_of_one_subject_are_one_sentence():
    tests = [made(1e-5, claim("x", size=size, place=place)) for size, place in ((1, "p"), (3, "q"))]
    assert sentences(*tests) == ["x differs; also p."]
    many = [made(1e-5, claim("x", place=f"{place}")) for place in range(9)]
    assert sentences(*many) == ["x differs; also in 8 other cases."]


def test_sixteen_sentences_at_most_the_largest_first_and_no_kind_alone():
    loud = [made(1e-5, claim(f"x{size}", size=size)) for size in range(10, 30)]
    quiet = made(1e-5, claim("quiet"), dataclasses.replace(SMALL, name="other"))
    told = sentences(*loud, quiet)
    assert told == [*(f"x{size} differs." for size in range(29, 14, -1)), "quiet differs."]


def test_a_sample_takes_one_of_each_stretch():
    assert sample(range(5), 5) == (0, 1, 2, 3, 4)
    found = sample(range(1000), 10)
    assert [place // 100 for place in found] == list(range(10))
    assert found == sample(range(1000), 10)
    assert len({place % 10 for place in found}) > 3


def test_every_statement_says_what_it_is():
    assert len({(one.shown, one.name) for one in STATEMENTS}) == len(STATEMENTS)
    assert all(one.says and one.test for one in STATEMENTS)
    findings = shown_as("further finding")
    assert all(one.correction and one.min_blocks >= 5 for one in findings)


def systems_that_differ(*by: float, blocks: int = 10) -> np.ndarray:
    """Two systems over three metrics of one level each, b so much faster than a."""
    values = np.random.default_rng(4).normal(0, 0.004, (blocks, 2, 3))
    values[:, 1] += by
    return values


METRICS = ("read", "write", "stat")


def test_where_the_winner_is_worse():
    logs = systems_that_differ(0.3, 0.3, -0.1)
    (found,) = of_kind(observations_of(logs, (4096,), metrics=METRICS), "losses")
    assert "b wins against a over all 3 cells, but not everywhere: b is " in found.sentence
    assert found.metric == "stat"


@pytest.mark.parametrize(
    ("by", "ending"),
    [
        ((0.6, 0.0, 0.0), "without it b and a are equivalent"),
        ((0.6, -0.1, -0.1), "a leads without it"),
    ],
)
def test_a_lead_that_rests_on_one_metric(by, ending):
    logs = systems_that_differ(*by)
    (found,) = of_kind(observations_of(logs, (4096,), metrics=METRICS), "leave-one-out")
    assert f"the lead of b over a rests on read: {ending}" in found.sentence


def test_a_broad_lead_rests_on_nothing():
    logs = systems_that_differ(0.3, 0.3, 0.3)
    assert observations_of(logs, (4096,), metrics=METRICS) == ()
