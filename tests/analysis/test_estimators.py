"""Ratios of results that were not run here, against known answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from support.collections import KB
from tiltyard.analysis.dataset import Dataset, Point, Sample, half_unit, together
from tiltyard.analysis.estimators import Evidence, estimator_of, evidence_of, paired, unpaired
from tiltyard.analysis.quantity import Direction
from tiltyard.collected.model import CollectedMetric, PrintedAs, Reading

WHOLE = PrintedAs(unit="/s", factor=1, decimals=0)


def dataset_of(
    cells: Sequence[Mapping[str, Reading]],
    half: float | None = None,
    directions: Sequence[Direction] = (),
) -> Dataset:
    """Cells of some systems; ``half`` in place of what follows from their digits."""
    points = []
    for cell, readings in enumerate(cells):
        way = directions[cell] if directions else "higher"
        metric = CollectedMetric(name="m", label="m", unit="/s", direction=way, printed=WHOLE)
        points.append(Point(metric, {}, "", readings, cell))
    dataset = Dataset.of(points, [*cells[0]])
    if half is not None:
        dataset.rows["half"] = half
    return dataset


def sampled(
    readings: Sequence[Reading], half: float | None = None, directions: Sequence[Direction] = ()
) -> Sample | None:
    """Of one system over as many cells."""
    dataset = dataset_of([{"a": reading} for reading in readings], half, directions)
    return dataset.samples(range(len(readings))).get("a")


def of(values: tuple[float, ...], half: float = 0.0, blocks: tuple[int, ...] = ()) -> Sample:
    found = sampled([Reading(metric="m", system="a", values=values, blocks=blocks)], half)
    assert found is not None
    return found


def summary(printed: PrintedAs | None = None, **kept: float) -> Sample:
    reading = Reading.model_validate({"metric": "m", "system": "a", **kept})
    found = sampled([reading], half_unit([reading], printed))
    assert found is not None
    return found


def of_two(first: Sample, second: Sample) -> Evidence:
    (found,) = unpaired([(first, second)])
    return found


def ends(found: Evidence, alpha: float = 0.05) -> tuple[float, float]:
    interval = found.interval(alpha)
    assert interval is not None
    return interval


@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_values_are_compared_as_scipy_does_it(alpha: float) -> None:
    first = (10.1, 10.4, 9.9, 10.6)
    second = (9.0, 9.3, 9.1, 9.5)
    found = of_two(of(first), of(second))
    own = stats.ttest_ind(np.log(first), np.log(second), equal_var=False)
    interval = own.confidence_interval(1 - alpha)
    assert found.p == pytest.approx(own.pvalue, rel=1e-9)
    assert ends(found, alpha) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found.n == 4
    assert not found.paired


def test_a_few_values_that_agree_are_not_surer_than_many_that_do_not() -> None:
    """Noise with two modes: three of ten lie 10 % lower, and the three of the other side agree."""
    agree, spread = (100.0, 100.01, 99.99), (100.0, 90.0) * 5
    found = of_two(of(agree), of(spread))
    own = stats.ttest_ind(np.log(agree), np.log(spread), equal_var=False)
    assert own.pvalue < 0.05
    assert found.p is not None
    assert found.p > 0.05
    low, high = ends(found)
    assert low < 0 < high


def test_two_values_a_side_tell_nothing() -> None:
    """Two modes: in one of eight comparisons of equal systems they lie apart like these."""
    found = of_two(of((100.0, 100.1)), of((90.0, 90.1)))
    assert found.estimate == pytest.approx(math.log(100.05 / 90.05), abs=1e-6)
    assert (found.p, found.interval()) == (None, None)
    assert of_two(of((100.0, 100.1, 99.9)), of((90.0, 90.1))).p is None
    assert summary(mean=4.0, sd=0.1, n=2).error is None


def test_a_summary_is_worth_what_its_values_are_to_first_order() -> None:
    values = np.array([100.0, 101.0, 99.5, 100.4, 99.1])
    whole = of(tuple(values))
    kept = summary(mean=values.mean(), sd=values.std(ddof=1), n=5)
    assert kept.mean == pytest.approx(whole.mean, abs=1e-4)
    assert kept.error == pytest.approx(whole.error, rel=0.01)


def test_a_standard_error_printed_as_zero_is_not_zero() -> None:
    found = summary(KB, mean=512.0 * 1024, se=0.0, n=3)
    assert found.error == pytest.approx(0.5 / 512)
    assert found.rounding == pytest.approx(0.5 / 512, rel=1e-3)


def test_a_spread_of_zero_without_known_digits_is_none() -> None:
    assert of((20.0,) * 5).error is None
    assert summary(mean=20.0, se=0.0, n=5).error is None


def test_whole_numbers_that_agree_are_not_certain() -> None:
    """20 stands for 19.5 to 20.5, and 21 for 20.5 to 21.5: the same number may have been both."""
    found = of_two(of((20.0,) * 3, 0.5), of((21.0,) * 3, 0.5))
    assert found.p == 1.0
    low, high = ends(found)
    assert low < math.log(19.5 / 21.5) < math.log(20.5 / 20.5) < high


def test_whole_numbers_far_apart_differ() -> None:
    low, high = ends(of_two(of((20.0,) * 3, 0.5), of((40.0,) * 3, 0.5)))
    assert low < math.log(19.5 / 40.5)
    assert math.log(20.5 / 39.5) < high < 0


def test_what_rounding_leaves_open_is_in_the_interval_whatever_the_values_were() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        true = rng.uniform(20, 40, (2, 5))
        exact = ends(of_two(*(of(tuple(one)) for one in true)))
        kept = ends(of_two(*(of(tuple(np.round(one)), 0.5) for one in true)))
        centre, found = sum(exact) / 2, sum(kept) / 2
        slack = (kept[1] - kept[0]) / 2
        assert abs(centre - found) < slack


@pytest.mark.parametrize(
    ("values", "printed", "half"),
    [
        ((20.0, 21.0, 23.0), WHOLE, 0.5),
        ((20.0, 20.0, 20.0), WHOLE, 0.5),
        ((20.25, 20.5, 23.0), WHOLE, 0.125),  # it keeps more digits than it prints
        ((20.0, 20.5, 23.0), None, 0.25),
        ((20.0, 20.0, 20.0), None, 0.0),
    ],
)
def test_the_last_kept_place(
    values: tuple[float, ...], printed: PrintedAs | None, half: float
) -> None:
    assert half_unit([Reading(metric="m", system="a", values=values)], printed) == half


def test_a_single_number_has_no_interval() -> None:
    found = of_two(summary(mean=4.0), of((2.0,)))
    assert found.estimate == pytest.approx(math.log(2))
    assert (found.p, found.interval()) == (None, None)


def test_an_interval_of_absurd_width_is_still_one_of_numbers() -> None:
    low, high = ends(of_two(Sample(0.0, 1e30, 3), Sample(0.0, 0.1, 3)))
    assert 0 < math.exp(low) < math.exp(high) < math.inf


def test_nothing_is_said_of_what_is_not_positive() -> None:
    for reading in (
        Reading(metric="m", system="a", values=(1.0, 0.0)),
        Reading(metric="m", system="a"),
    ):
        assert sampled([reading]) is None


def test_blocks_pair_what_has_the_same_number() -> None:
    numbers = {"a": (6, 5, 4, 3, 2, 1), "b": (1, 2, 3, 4, 5, 6, 7), "c": tuple(range(7, 14))}
    values = {"a": (2.0,) * 5 + (4.0,), "b": (2.0,) + (1.0,) * 6, "c": (1.0,) * 7}
    readings = {
        name: Reading(metric="m", system=name, values=own, blocks=numbers[name])
        for name, own in values.items()
    }
    first, second, apart = dataset_of([readings], 0.0).samples([0]).values()
    found = paired(first, second)
    assert found.n == 6
    assert found.differences == pytest.approx([math.log(2)] * 6)
    assert [estimator_of(first, other) for other in (second, apart)] == ["blocks", "values"]


def test_paired_whole_numbers_are_the_same_within_their_rounding_only() -> None:
    """3 against 3: anything from 2.5 against 3.5 to 3.5 against 2.5."""
    blocks = tuple(range(1, 11))
    found = paired(of((3.0,) * 10, 0.5, blocks), of((3.0,) * 10, 0.5, blocks))
    low, high = ends(found)
    assert low <= math.log(2.5 / 3.5)
    assert high >= math.log(3.5 / 2.5)
    assert found.p == 1.0
    apart = paired(of((3.0,) * 10, 0.5, blocks), of((4.0,) * 10, 0.5, blocks))
    assert apart.p == 1.0, "3.5 may have been both"


def test_paired_values_have_the_exact_p_value_of_signed_ranks() -> None:
    blocks, ratios = tuple(range(1, 9)), (1.1, 1.2, 0.98, 1.3, 1.05, 1.4, 1.15, 1.25)
    found = paired(of(ratios, 0.0, blocks), of((1.0,) * 8, 0.0, blocks))
    assert found.p == pytest.approx(stats.wilcoxon(np.log(ratios)).pvalue)
    assert found.interval(0.001) is None, "eight blocks have no 99.9 % interval"


def test_cells_that_nobody_can_line_up_are_as_sure_as_one_of_them() -> None:
    found = together([Sample(1.0, 0.3, 5), Sample(3.0, 0.4, 3)])
    assert found.mean == 2.0
    assert found.error == pytest.approx(0.35)
    assert found.n == 3
    assert together([Sample(1.0, 0.3, 5), Sample(3.0, None, 1)]).error is None


def test_cells_that_line_up_are_averaged_within_each_replicate() -> None:
    run = np.array([1.0, 1.3, 0.8, 1.1])
    cells = [
        Reading(metric="m", system="a", values=tuple(level * run)) for level in (10.0, 20.0, 40.0)
    ]
    found = sampled(cells, 0.0)
    assert found is not None
    assert found.n == 4
    assert found.error == pytest.approx(np.log(run).std(ddof=1) / 2), "as sure as one cell"
    opposed = sampled(cells[:2], 0.0, ("higher", "lower"))
    assert opposed is not None
    assert opposed.mean == pytest.approx(math.log(10 / 20) / 2)


def test_cells_of_other_counts_do_not_line_up() -> None:
    cells = [
        Reading(metric="m", system="a", values=values)
        for values in ((1.0, 1.3, 0.8, 1.1), (2.0, 2.1, 2.3))
    ]
    found = sampled(cells, 0.0)
    assert found is not None
    assert found.replicates is None
    parts = [of(one.values).error for one in cells]
    assert found.error == pytest.approx(sum(part for part in parts if part) / 2)


def test_the_estimator_follows_from_what_is_known_of_values_and_not_from_the_values() -> None:
    """Whichever way the values of a table are dealt out, what compares them stays what it is."""
    rng = np.random.default_rng(11)

    def reading(system: str, **kept: object) -> Reading:
        return Reading.model_validate({"metric": "m", "system": system, **kept})

    def values(n: int) -> tuple[float, ...]:
        return tuple(rng.lognormal(0.0, 1.0, n).tolist())

    blocks, three = tuple(range(1, 9)), ("may",) * 4 + ("june",) * 4
    summed = {"mean": 2.0, "se": 0.1, "n": 5}
    cells = {
        "blocks": [
            {"values": values(8), "blocks": blocks},
            {"values": values(8), "blocks": blocks},
        ],
        "values": [{"values": values(8), "blocks": blocks}, summed],
        "studies": [{"values": values(8), "blocks": blocks, "groups": three}] * 2,
        "sessions": [
            {"values": values(8), "blocks": tuple(n + 8 * side for n in blocks), "groups": three}
            for side in (0, 1)
        ],
    }
    dataset = dataset_of(
        [{s: reading(s, **own) for s, own in zip("ab", two, strict=True)} for two in cells.values()]
    )
    for _ in range(20):
        rows = dataset.rows.copy()
        rows["value"] = rng.permutation(rows["value"])
        dealt = replace(dataset, rows=rows, _sampled={})
        for cell, name in enumerate(cells):
            first, second = dealt.samples([cell]).values()
            assert estimator_of(first, second) == name
            (found,) = evidence_of([(first, second)])
            assert found.paired == (name in ("blocks", "studies"))


def test_numbers_of_blocks_and_counts_may_be_of_any_size() -> None:
    """They are a stranger's: dates of rounds, or all operations behind a mean."""
    far = tuple(10**20 + n for n in range(6))
    found = of((2.0, 3.0, 2.5, 2.0, 3.0, 4.0), blocks=far[::-1])
    assert found.replicates is not None
    assert found.replicates.logs[0] == pytest.approx(math.log(4.0))
    assert paired(found, of((1.0,) * 6, blocks=far)).n == 6
    assert summary(mean=4.0, sd=0.1, n=10**20).n == 2**31 - 1
