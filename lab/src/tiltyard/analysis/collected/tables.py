"""Collected values as the tables of the findings: cells, indices, averages."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tiltyard.analysis.dataset import CollectedQuantity, Point
from tiltyard.analysis.estimators import ratio_of
from tiltyard.analysis.model import Average, Cell, Comparison, Index, Summary
from tiltyard.analysis.pairs import beside_ratios, standings, turned
from tiltyard.analysis.tables import averages
from tiltyard.collected.model import CollectedWorkload, PrintedAs, Reading
from tiltyard.collected.stated import Stated
from tiltyard.stats.summary import summarise


def _beside(
    own: Sequence[Point], values: Mapping[str, float], pairs: Sequence[Comparison], baseline: str
) -> dict[str, float]:
    """As :func:`beside_ratios`; what a source states itself stays as it states it."""
    stated = {name for point in own for name, one in point.readings.items() if one.mean is not None}
    against = {pair.system: pair.ratio for pair in pairs if pair.against == baseline}
    ratios = {name: ratio for name, ratio in against.items() if name not in stated}
    return beside_ratios(values, ratios, baseline)


def cell(point: Point, comparisons: Sequence[Comparison], baseline: str) -> Cell:
    """A point with its verdicts."""
    own = {name: typical(reading) for name, reading in point.readings.items()}
    beside = _beside([point], own, comparisons, baseline)
    return Cell(
        metric=point.metric.name,
        label=point.metric.label,
        unit=point.metric.unit,
        shown_in=point.metric.unit,
        direction=point.metric.direction,
        at=dict(point.at),
        at_label=point.label,
        summaries=tuple(
            _summary(name, reading, beside[name]) for name, reading in point.readings.items()
        ),
        comparisons=tuple(comparisons),
        printed=point.metric.printed,
    )


def index(
    name: str,
    label: str,
    quantity: CollectedQuantity,
    comparisons: Sequence[Comparison],
    baseline: str,
    *,
    together: bool,
) -> Index:
    """Systems over several points, ranked by estimate.

    Ranks that the verdicts leave possible are told where those hold ``together`` (Holm); over too
    few studies for verdicts there are none.
    """
    own, direction = quantity.points, quantity.direction
    shown = own[0].metric.printed if len({point.metric.printed for point in own}) == 1 else None
    own_values = {
        system: as_shown(ratio_of(found.mean), shown) for system, found in quantity.samples.items()
    }
    comparisons = [_of_shown(pair, own_values) for pair in comparisons]
    values = {
        system: as_shown(value, shown)
        for system, value in _beside(own, own_values, comparisons, baseline).items()
    }
    few = all(pair.over and pair.low is None for pair in comparisons)
    return Index(
        name=name,
        label=label,
        unit=quantity.unit,
        shown_in=quantity.unit,
        direction=direction,
        cells=len(own),
        standings=standings(
            values,
            own_values,
            direction,
            [((pair.system, pair.against), pair.verdict) for pair in comparisons],
            lambda system: _against(comparisons, system, baseline),
            has_ranks=together and not (few and comparisons),
        ),
        comparisons=tuple(comparisons),
        printed=shown,
    )


def as_shown(value: float, printed: PrintedAs | None) -> float:
    """What is calculated from printed values has their digits; any other value stays as it is."""
    if printed is None:
        return value
    return round(value / printed.factor, printed.decimals) * printed.factor


def _of_shown(pair: Comparison, values: Mapping[str, float]) -> Comparison:
    """A ratio without an interval is that of the two values that are shown."""
    if pair.low is not None or not values.get(pair.system) or not values.get(pair.against):
        return pair
    ratio = values[pair.system] / values[pair.against]
    return pair.model_copy(update={"ratio": ratio, "geometric_mean_ratio": ratio})


def differing(
    workload: CollectedWorkload, whole: Index, averages: Sequence[Average]
) -> tuple[str, ...]:
    """Where the source prints other digits of a mean or an advantage than follow from its values.

    ``in-cache, ext4 out-of-box: 3,960,761, in the source 3,960,760``.
    """
    means: dict[str, dict[str, float]] = {
        "geometric-mean": {one.system: one.value for one in whole.standings},
        "mean": {one.system: one.value for one in averages},
    }
    found = []
    for one in workload.means:
        own = means[one.of].get(one.system), means[one.of].get(one.against or one.system)
        if whole.printed is None or not own[0] or not own[1]:
            continue
        value = own[0] / whole.printed.factor
        name, unit = one.system, ""
        if one.against is not None:
            ratio = own[0] / own[1]
            value = 100 * (ratio - 1 if whole.direction == "higher" else 1 - ratio)
            name, unit = f"{one.system} over {one.against}", " %"
        stated = Stated(one.text)
        if stated.digits_of(value) != stated.digits_of(stated.value):
            found.append(
                f"{workload.display}, {name}: {stated.digits_of(value)}{unit}, "
                f"in the source {stated.digits_of(stated.value)}{unit}"
            )
    return tuple(found)


def averages_of(own: Sequence[Point]) -> tuple[Average, ...]:
    """Arithmetic means over the points, of systems that have all of them, in base units.

    With the digits of the source, where it prints any: a relation of two averages is that of the
    two that are shown.
    """
    printed = {point.metric.printed for point in own}
    shown = partial(as_shown, printed=printed.pop() if len(printed) == 1 else None)
    rows = [{name: typical(one) for name, one in point.readings.items()} for point in own]
    return averages(rows, shown)


def typical(reading: Reading) -> float:
    """The one number that stands for a reading: the mean that is stated, else of its values."""
    if reading.mean is not None:
        return reading.mean
    return math.fsum(reading.values) / len(reading.values)


def _summary(system: str, reading: Reading, beside: float) -> Summary:
    known = {"system": system, "percentiles": reading.percentiles}
    if not reading.values:
        mean = reading.mean or 0.0
        return Summary(
            **known,
            blocks=(),
            values=(),
            median=mean,
            median_low=None,
            median_high=None,
            mean=mean,
            sd=reading.sd,
            cv=reading.sd / mean if reading.sd is not None and mean else None,
            se=reading.se,
            n=reading.n,
        )
    found = summarise(np.asarray(reading.values))
    return Summary(
        **known,
        blocks=reading.blocks,
        values=reading.values,
        median=found.median,
        median_low=found.median_low,
        median_high=found.median_high,
        mean=found.mean if reading.mean is None else reading.mean,
        beside_ratio=None if beside == found.median else beside,
        sd=found.sd if reading.sd is None else reading.sd,
        cv=found.cv,
        se=reading.se,
        n=len(reading.values),
    )


def _against(comparisons: Sequence[Comparison], system: str, baseline: str) -> Comparison | None:
    """The comparison with the baseline, told from the system's side."""
    for pair in comparisons:
        if (pair.system, pair.against) == (system, baseline):
            return pair
        if (pair.against, pair.system) == (system, baseline):
            return turned(pair)
    return None
