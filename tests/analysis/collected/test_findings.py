"""Collections to findings: the same form, and no more than the source allows."""

import math
import re

import pytest

from support.collections import KB, collection, metric
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.collected.model import Kept, Reading

ROUNDS = tuple(range(1, 9))


def readings(**speeds: tuple[float, ...]) -> list[Reading]:
    return [Reading(metric="throughput", system=name, values=v) for name, v in speeds.items()]


def single(**speeds: float) -> Findings:
    return analyse_collection(
        collection(
            [
                Reading(metric="throughput", system=name, at={"record": size}, mean=speed * factor)
                for name, speed in speeds.items()
                for size, factor in ((4096, 1024), (65536, 4096))
            ],
            [metric(printed=KB)],
        )
    )


def test_single_numbers_are_ranked_and_not_judged() -> None:
    findings = single(ext4=100.0, xfs=121.0)
    (workload,) = findings.workloads
    first, second = workload.index.standings
    assert (first.system, second.system) == ("xfs", "ext4")
    assert first.value / 1024 == pytest.approx(121 * 2)
    assert first.comparison is not None
    assert first.comparison.ratio == pytest.approx(1.21)
    assert first.comparison.verdict == "undecided"
    assert (first.rank_best, first.rank_worst) == (1, 2)
    assert "cannot be said without repetitions" in findings.answer
    assert any("one number was kept" in notice.text for notice in findings.notices)


def test_heaps_of_values_get_verdicts_that_say_what_they_are() -> None:
    clear = readings(ext4=(100.0, 101.0, 99.0), xfs=(150.0, 151.0, 149.0), btrfs=(100.5, 99.5, 100))
    findings = analyse_collection(collection(clear))
    (cell,) = findings.workloads[0].cells
    verdicts = {(c.system, c.against): c.verdict for c in cell.comparisons}
    assert verdicts["xfs", "ext4"] == "faster"
    assert verdicts["btrfs", "xfs"] == "slower"
    assert verdicts["btrfs", "ext4"] in ("equivalent", "undecided")
    assert all(c.unpaired and not c.differences for c in cell.comparisons)
    assert all("not paired" in c.sentence for c in cell.comparisons)
    assert any("drift" in notice.text for notice in findings.notices)


def test_paired_blocks_find_what_heaps_cannot() -> None:
    """A drift of the machine that is far larger than the difference."""
    drift = [100.0 * 1.5**block for block in ROUNDS]
    heaps = readings(a=tuple(drift), b=tuple(1.05 * one for one in drift))
    blocks = [reading.model_copy(update={"blocks": ROUNDS}) for reading in heaps]
    apart, together = (
        analyse_collection(collection(own)).workloads[0].index.comparisons[0]
        for own in (heaps, blocks)
    )
    assert apart.verdict == "undecided"
    assert together.verdict == "faster"
    assert len(together.differences) == len(ROUNDS)
    assert together.ahead == 1.0


def over_two_points(second_blocks: tuple[int, ...]) -> Findings:
    """b is 1.1 of a in the mean of the two points, block by block, if the second point's values are
    of the blocks 8, 7 … 1.
    """
    steps = [1.3**block for block in ROUNDS]
    shares = {4096: [1.1 * step for step in steps], 65536: [1.1 / step for step in steps[::-1]]}
    return analyse_collection(
        collection(
            [
                Reading(
                    metric="throughput",
                    system=name,
                    at={"record": record},
                    values=tuple(100.0 * share if name == "b" else 100.0 for share in own),
                    blocks=ROUNDS if record == 4096 else second_blocks,
                )
                for record, own in shares.items()
                for name in ("a", "b")
            ]
        )
    )


def test_points_are_put_together_block_by_block_in_whatever_order_they_stand() -> None:
    (comparison,) = over_two_points(ROUNDS[::-1]).workloads[0].index.comparisons
    assert comparison.differences == pytest.approx([1.1] * len(ROUNDS))


def test_points_of_other_blocks_are_not_put_together_as_pairs() -> None:
    later = tuple(block + 1 for block in ROUNDS)
    (comparison,) = over_two_points(later).workloads[0].index.comparisons
    assert comparison.unpaired


def test_times_are_better_when_they_are_less() -> None:
    own = [
        Reading(metric="time", system=name, values=values)
        for name, values in (("old", (10.0, 10.1, 9.9)), ("new", (5.0, 5.1, 4.9)))
    ]
    findings = analyse_collection(collection(own, [metric("time", "s")]))
    (comparison,) = findings.workloads[0].index.comparisons
    assert comparison.verdict == "faster"
    assert findings.workloads[0].index.standings[0].system == "new"


def test_speeds_and_times_meet_in_one_index() -> None:
    own = [
        Reading(metric=name, system=system, values=(value, value * 1.001))
        for system, rate, seconds in (("a", 100.0, 4.0), ("b", 200.0, 2.0))
        for name, value in (("throughput", rate), ("time", seconds))
    ]
    found = analyse_collection(collection(own, [metric(), metric("time", "s")])).workloads[0].index
    assert found.standings[0].system == "b"
    assert found.direction == "higher"
    assert found.unit == ""
    assert found.comparisons[0].ratio == pytest.approx(2.0, rel=1e-6)


def test_latencies_have_their_average() -> None:
    own = [
        Reading(metric="latency", system=name, at={"request": size}, mean=base * size)
        for name, base in (("a", 1e-6), ("b", 2e-6))
        for size in (1, 2, 6)
    ]
    findings = analyse_collection(collection(own, [metric("latency", "s")]))
    averages = {average.system: average for average in findings.workloads[0].averages}
    assert averages["a"].value == pytest.approx(3e-6)
    assert averages["b"].ratios["a"] == pytest.approx(2.0)


def test_a_missing_reading_leaves_a_system_out_of_the_mean_only() -> None:
    own = [
        Reading(metric="throughput", system=name, at={"record": size}, mean=1.0)
        for name in ("a", "b", "c")
        for size in (4096, 8192)
        if (name, size) != ("c", 8192)
    ]
    workload = analyse_collection(collection(own)).workloads[0]
    assert {standing.system for standing in workload.index.standings} == {"a", "b"}
    assert [len(cell.summaries) for cell in workload.cells] == [3, 2]


def test_what_was_kept_is_not_complained_about() -> None:
    kept = Kept(order=True, interleaved=True, cache_state=True, limits=("The host is not known.",))
    findings = analyse_collection(collection(readings(a=(1.0, 2.0), b=(1.0, 2.0)), kept=kept))
    assert [notice.text for notice in findings.notices] == ["The host is not known."]


def test_findings_survive_the_way_to_disk() -> None:
    findings = single(ext4=100.0, xfs=121.0)
    assert Findings.model_validate_json(findings.model_dump_json()) == findings


def test_sentences_say_what_the_tables_say() -> None:
    clear = readings(ext4=(100.0, 101.0, 99.0), xfs=(150.0, 151.0, 149.0))
    (comparison,) = analyse_collection(collection(clear)).workloads[0].index.comparisons
    said = re.search(r"faster, (\S+) % more", comparison.sentence)
    assert said is not None
    assert comparison.ratio is not None
    assert float(said[1]) == pytest.approx(100 * (comparison.ratio - 1), abs=0.5)
    assert math.isclose(comparison.ratio, 1.5, rel_tol=1e-3)


def test_nothing_is_said_of_comparisons_where_there_are_none() -> None:
    empty = collection(readings(a=(1.0,), b=(2.0,)))
    workload = empty.workloads[0].model_copy(update={"readings": ()})
    findings = analyse_collection(empty.model_copy(update={"workloads": (workload,)}))
    assert findings.family == 0
    assert "corrected" not in findings.design_sentence
    assert "fewer than two systems have values" in findings.answer
