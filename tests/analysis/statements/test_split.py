"""No headline is a mean that hides its own cells."""

import re

import numpy as np
import pytest

from support.collections import collection, metric
from support.observed import findings_of
from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.headline import headline
from tiltyard.collected.model import Reading

TESTS = ("read", "write", "stat")


def own(*by: float) -> Findings:
    """Two systems, b so much faster in each test."""
    values = np.random.default_rng(4).normal(0, 0.004, (10, 2, len(by)))
    values[:, 1] += by
    return findings_of(values, (4096,), metrics=TESTS[: len(by)])


def collected(*by: float) -> Findings:
    """The same, read from files of another tool."""
    rng = np.random.default_rng(5)
    return analyse_collection(
        collection(
            [
                Reading(
                    metric=name,
                    system=system,
                    values=tuple(100 * np.exp(sign * gain + rng.normal(0, 0.004, 10))),
                )
                for name, gain in zip(TESTS, by, strict=False)
                for system, sign in (("a", 0), ("b", 1))
            ],
            [metric(name) for name in TESTS[: len(by)]],
        )
    )


@pytest.mark.parametrize("study", [own, collected])
def test_tests_that_are_decided_both_ways_are_the_headline(study) -> None:
    found = study(0.09, -0.08, 0.0)
    (mean,) = found.workloads[0].index.comparisons
    assert mean.verdict in ("equivalent", "undecided", "faster")
    for text in (found.answer, found.workloads[0].answer):
        assert re.search(r"read.* \+9\.\d+ % \(\+8\.\d+ … \+[\d.]+ %, faster\)", text)
        assert re.search(r", write.* −7\.\d+ % \(−8\.\d+ … −7\.\d+ %, slower\)", text)
        assert re.search(r"; (equivalent|no difference shown) in 1 of 3 tests", text)
        assert "over all" not in text
        assert "equivalent within" not in text


@pytest.mark.parametrize("study", [own, collected])
def test_a_mean_that_turns_round_without_one_test_is_no_headline(study) -> None:
    found = study(0.9, -0.015)
    (mean,) = found.workloads[0].index.comparisons
    assert mean.verdict == "faster"
    assert re.search(r": read.* %, faster\)", found.answer)
    assert mean.sentence not in found.answer


@pytest.mark.parametrize("study", [own, collected])
def test_a_mean_of_tests_that_agree_stays_the_headline(study) -> None:
    found = study(0.3, 0.3, 0.2)
    assert "read" not in found.answer


RATES = {
    name: Shape((card("rate", "operations", "1/s"),), {"rate": 9_000.0 * factor})
    for name, factor in (("one", 1), ("two", 2), ("three", 3), ("four", 4))
}


def test_a_mean_over_tests_of_several_workloads_is_split_too() -> None:
    found = analyse(
        *synthetic_study(
            ("ext4", "xfs"), blocks=20, effects={"xfs": 1.2}, noise=0.02,
            workloads=tuple(RATES), shapes=RATES,
        )
    )  # fmt: skip
    first = found.workloads[0]
    (pair,) = first.index.comparisons
    worse = pair.model_copy(update={"verdict": "slower", "ratio": 0.8, "low": 0.75, "high": 0.85})
    index = first.index.model_copy(update={"comparisons": (worse,)})
    workloads = (first.model_copy(update={"index": index}), *found.workloads[1:])
    assert "mean of 4 tests" in found.answer
    text = headline(found.model_copy(update={"workloads": workloads}))
    assert text.startswith("xfs against ext4 (simultaneous 95 % CI, ")
    assert "faster in 3, most of all two +" in text
    assert ", one −20.0 % (−25.0 … −15.0 %, slower)." in text
    assert text.endswith("slower).")
    assert "mean of 4 tests" not in text


@pytest.mark.parametrize("study", [own, collected])
@pytest.mark.parametrize("gain", [0.9, 0.03])
def test_one_of_two_tests_that_shows_nothing_is_not_hidden_in_the_mean(study, gain: float) -> None:
    """ "62 % faster" of a SET that is 2.7 times as fast and a GET that is level."""
    found = study(gain, 0.0)
    verdicts = {cell.metric: cell.comparisons[0].verdict for cell in found.workloads[0].cells}
    assert verdicts["read"] == "faster"
    assert verdicts["write"] in ("equivalent", "undecided")
    for text in (found.answer, found.workloads[0].answer):
        assert re.search(r": read.* \+[\d.]+ % \(\+[\d.]+ … \+[\d.]+ %, faster\), write", text)
        assert f"%, {verdicts['write']})" in text
        assert "over all" not in text


@pytest.mark.parametrize("study", [own, collected])
def test_two_tests_of_which_none_is_decided_stay_a_mean(study) -> None:
    assert "read" not in study(0.0, 0.0).answer
