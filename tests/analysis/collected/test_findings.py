"""Collections to findings: the same form, and no more than the source allows."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest

from support.collections import KB, collection, metric
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.collected.model import Kept, PrintedAs, Reading

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
    assert findings.answer.startswith("No verdict on ")
    assert "By value alone xfs is first of 2 systems." in findings.answer
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
    assert re.search(
        r" takes 50(\.\d+)? % less time than .* \(95 % CI 4\d(\.\d+)? to 5\d(\.\d+)? %, ",
        comparison.sentence,
    ), comparison.sentence


def test_speeds_and_times_have_no_common_mean() -> None:
    """A rate and its inverse are one thing: the headline is the first metric, judged once."""
    own = [
        Reading(metric=name, system=system, values=(value, value * 1.001))
        for system, rate, seconds in (("a", 100.0, 4.0), ("b", 200.0, 2.0))
        for name, value in (("throughput", rate), ("time", seconds))
    ]
    findings = analyse_collection(collection(own, [metric(), metric("time", "s")]))
    (workload,) = findings.workloads
    found = workload.index
    assert [standing.system for standing in found.standings] == ["b", "a"]
    assert (found.direction, found.unit, found.cells) == ("higher", "B/s", 1)
    assert found.comparisons[0].ratio == pytest.approx(2.0, rel=1e-6)
    (of_cell,), (of_index,) = workload.cells[0].comparisons, found.comparisons
    assert of_cell.sentence == of_index.sentence
    assert [table.unit for table in workload.compared].count("B/s") == 1
    assert {table.unit for table in workload.compared} == {"B/s", "s"}
    assert "geometric mean" not in findings.answer


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
    findings = analyse_collection(
        collection(readings(a=(1.0, 2.0, 3.0), b=(1.0, 2.0, 3.0)), kept=kept)
    )
    assert [notice.text for notice in findings.notices] == ["The host is not known."]


def test_findings_survive_the_way_to_disk() -> None:
    findings = single(ext4=100.0, xfs=121.0)
    assert Findings.model_validate_json(findings.model_dump_json()) == findings


def test_sentences_say_what_the_tables_say() -> None:
    clear = readings(ext4=(100.0, 101.0, 99.0), xfs=(150.0, 151.0, 149.0))
    (comparison,) = analyse_collection(collection(clear)).workloads[0].index.comparisons
    said = re.search(r"xfs is (\S+) % faster than ext4", comparison.sentence)
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


def cells_of(seed: int, cells: int, n: int, shared: float) -> Findings:
    """Two equal systems; the cells of one run share so much of its noise."""
    rng = np.random.default_rng(seed)
    own = []
    for name in ("a", "b"):
        run = rng.normal(0, math.sqrt(shared), n)
        noise = run + rng.normal(0, math.sqrt(1 - shared), (cells, n))
        own += [
            Reading(
                metric="throughput", system=name, at={"cell": c}, values=tuple(np.exp(0.03 * row))
            )
            for c, row in enumerate(noise)
        ]
    return analyse_collection(collection(own))


def test_noise_that_the_cells_of_a_run_share_names_no_winner() -> None:
    """Thirteen cells taken as independent named one in half of such reports."""
    winners = sum(
        cells_of(seed, 13, 5, 0.9).workloads[0].index.comparisons[0].verdict != "undecided"
        for seed in range(100)
    )
    assert winners <= 12, "binomial: 5 % of 100 are more than 12 once in a thousand times"


def whole_numbers(apart: float, n: int, blocks: bool) -> list[str]:
    """Verdicts on forty cells of whole numbers around 20 to 50 under a noise of 0.3 %."""
    rng = np.random.default_rng(7)
    own = []
    for cell, level in enumerate(rng.uniform(20, 50, 40)):
        for name, factor in (("a", 1.0), ("b", apart)):
            values = np.round(level * factor * np.exp(rng.normal(0, 0.003, n)))
            own.append(
                Reading(
                    metric="rate",
                    system=name,
                    at={"cell": cell},
                    values=tuple(values.tolist()),
                    blocks=tuple(range(1, n + 1)) if blocks else (),
                )
            )
    whole = PrintedAs(unit="/s", factor=1, decimals=0)
    findings = analyse_collection(collection(own, [metric("rate", "1/s", whole)]))
    return [cell.comparisons[0].verdict for cell in findings.workloads[0].cells]


@pytest.mark.parametrize(("n", "blocks"), [(2, False), (3, False), (5, False), (10, True)])
@pytest.mark.parametrize("apart", [1.0, 1.04])
def test_rounding_makes_neither_a_winner_nor_an_equivalence(
    apart: float, n: int, blocks: bool
) -> None:
    found = whole_numbers(apart, n, blocks)
    assert not {"equivalent", "slower"} & set(found)
    assert apart > 1 or "faster" not in found


def test_whole_numbers_that_differ_by_more_than_rounding_are_told_apart() -> None:
    assert set(whole_numbers(1.5, 3, blocks=False)) == {"faster"}
    assert set(whole_numbers(1.5, 10, blocks=True)) == {"faster"}


def grid_of(effects: Sequence[float], n: int = 10) -> WorkloadFindings:
    """Cells of a noise of 1 %, b so much faster in each; and a metric of one cell beside them."""
    rng = np.random.default_rng(11)
    own = []
    for name in ("a", "b"):
        for place, effect in enumerate(effects):
            values = np.exp(rng.normal(0, 0.01, n) + (effect if name == "b" else 0))
            own.append(
                Reading(
                    metric="throughput",
                    system=name,
                    at={"cell": place},
                    values=tuple(values.tolist()),
                )
            )
        own.append(
            Reading(
                metric="rate",
                system=name,
                at={"cell": 0},
                values=tuple(np.exp(rng.normal(0, 0.01, n)).tolist()),
            )
        )
    return analyse_collection(collection(own, [metric(), metric("rate", "1/s")])).workloads[0]


def test_intervals_of_differences_are_corrected_for_having_been_selected() -> None:
    workload = grid_of([0.1, 0.1] + [0.0] * 18)
    pairs = [pair for one in workload.other_cells for pair in one.comparisons]
    assert not workload.other_metrics[0].cells > 1, "the mean over the grid is the headline"
    claimed = [pair for pair in pairs if pair.verdict == "faster"]
    level = 1 - 0.05 * len(claimed) / len(pairs)
    assert 2 <= len(claimed) < len(pairs)
    assert [pair.level for pair in claimed] == pytest.approx([level] * len(claimed))
    assert all("(selection-adjusted 95 % CI " in pair.sentence for pair in claimed)
    assert all(pair.level == 0.95 for pair in pairs if pair.verdict == "undecided")
    for pair in claimed:
        assert pair.low is not None
        assert pair.low > 1


def test_intervals_of_whole_workloads_hold_together() -> None:
    clear = readings(
        ext4=(100.0, 101.0, 99.0, 100.5), xfs=(150.0, 151.0, 149.0, 151.3), btrfs=(99.1, 104.0, 101)
    )
    index = analyse_collection(collection(clear)).workloads[0].index
    assert [pair.level for pair in index.comparisons] == pytest.approx([1 - 0.05 / 3] * 3)
    assert all("simultaneous 95 % CI" in pair.sentence for pair in index.comparisons)


def test_ranks_are_told_only_where_they_hold_together() -> None:
    workload = grid_of([0.1, 0.1])
    assert [s.rank_worst for s in workload.index.standings] == [1, 2]
    for own in workload.by_metric:
        assert {(s.rank_best, s.rank_worst) for s in own.standings} == {(None, None)}


def test_a_metric_of_one_cell_is_judged_once() -> None:
    workload = grid_of([0.1, 0.1])
    (own,) = (cell for cell in workload.cells if cell.metric == "rate")
    assert workload.by_metric[1].comparisons == own.comparisons


def test_a_workload_of_one_cell_has_one_verdict_and_one_interval() -> None:
    clear = readings(ext4=(100.0, 101.0, 99.0), xfs=(150.0, 151.0, 149.0), btrfs=(100.5, 99.5, 100))
    findings = analyse_collection(collection(clear))
    (workload,) = findings.workloads
    assert workload.cells[0].comparisons == workload.index.comparisons
    assert findings.family == 0
    assert "Benjamini" not in findings.design_sentence


def test_ratios_beyond_all_floats_are_still_told() -> None:
    huge = readings(a=(1e-165, 1.1e-165, 1e-165), b=(1e150, 1.1e150, 1e150))
    (comparison,) = analyse_collection(collection(huge)).workloads[0].index.comparisons
    assert comparison.ratio is not None
    assert 1e100 < comparison.ratio < math.inf
    assert Findings.model_validate_json(analyse_collection(collection(huge)).model_dump_json())
