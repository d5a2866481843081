"""Shares of the best, and how often each system was found better or came first."""

import pytest

from support.in_print import printed_messages, printed_tests
from support.specimen import findings as specimen
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.relative import RelativeTest, mean_shares, relative_tests, shares_of_best
from tiltyard.analysis.tallies import tallies


def test_the_best_has_all_of_the_speed_whichever_way_is_better() -> None:
    for workload in analyse_collection(printed_messages()).workloads:
        shares = shares_of_best(workload.index)
        ranked = [standing.system for standing in workload.index.standings]
        assert len(shares) == 4
        assert shares[ranked[0]] == 1
        assert [shares[name] for name in ranked] == sorted(shares.values(), reverse=True)


def test_half_the_time_is_twice_the_speed() -> None:
    latency = analyse_collection(printed_messages()).workloads[1].index
    fast, slow = latency.standings[0], latency.standings[-1]
    assert shares_of_best(latency)[slow.system] == pytest.approx(fast.value / slow.value)


def test_every_test_of_every_workload_is_there() -> None:
    found = relative_tests(analyse_collection(printed_tests()))
    assert [(test.workload, test.label) for test in found] == [
        ("iozone", "write"),
        ("iozone", "random write"),
        ("iozone", "read"),
        ("iozone", "random read"),
        ("compile", "run time"),
    ]


def test_the_mean_is_geometric_and_of_systems_with_all_tests() -> None:
    tests = [
        RelativeTest("w", "one", "B/s", "higher", {"a": 1.0, "b": 0.25, "c": 0.5}),
        RelativeTest("w", "two", "B/s", "higher", {"a": 0.25, "b": 1.0}),
    ]
    assert mean_shares(tests) == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
    assert mean_shares([]) == {}


def test_every_win_is_a_loss_of_another_system() -> None:
    found = tallies(specimen(blocks=7, tests=("write", "read")))
    for verdict, other in (("faster", "slower"), ("slower", "faster")):
        assert sum(tally.verdicts.get(verdict, 0) for tally in found) == sum(
            tally.verdicts.get(other, 0) for tally in found
        )
    assert len({sum(tally.verdicts.values()) for tally in found}) == 1


def test_in_every_test_one_is_first_and_one_is_last() -> None:
    found = tallies(analyse_collection(printed_tests()))
    assert {tally.tests for tally in found} == {5}
    assert sum(tally.first for tally in found) == sum(tally.last for tally in found) == 5
