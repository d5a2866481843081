"""Judged quantities as the tables of the findings: comparisons, cells, indices, standings."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from statistics import fmean
from typing import Final

import numpy as np

from tiltyard.analysis.beside import beside
from tiltyard.analysis.contrast import Contrast, Judged
from tiltyard.analysis.model import Average, Cell, Comparison, Index, Standing, Summary
from tiltyard.analysis.pairs import beside_ratios, standings
from tiltyard.analysis.quantity import GridCell, Measured, log_width
from tiltyard.analysis.rows import Rows
from tiltyard.analysis.statements.family import HOLM, Family
from tiltyard.analysis.statements.numbers import marks
from tiltyard.analysis.statements.verdicts import blocks_of_decision, sentence
from tiltyard.plan.model import Design
from tiltyard.run.samples import BIN_WIDTH, PERCENTILES
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.summary import ValueSummary, geometric_mean, summarise_rows
from tiltyard.stats.types import FloatArray
from tiltyard.units import reading_unit


@dataclass(frozen=True)
class ComparisonBuilder:
    """Makes comparisons, with their sentences, of the contrasts of one family."""

    design: Design
    family: Family

    def comparison(self, contrast: Contrast) -> Comparison:
        """One contrast as the findings state it, on the scale of ratios."""
        interval = contrast.interval
        differences = contrast.differences.tolist()
        rested_on = differences[: interval.blocks] if interval else []
        sign = 1 if contrast.quantity.direction == "higher" else -1
        return Comparison(
            system=contrast.system,
            against=contrast.against,
            blocks=len(rested_on),
            ratio=math.exp(interval.estimate) if interval else None,
            low=math.exp(interval.low) if interval else None,
            high=math.exp(interval.high) if interval else None,
            rounding=contrast.quantity.rounding,
            level=interval.level if interval else 1 - LEVEL,
            p=interval.p if interval else None,
            p_adjusted=contrast.p_adjusted,
            verdict=contrast.verdict,
            futile=contrast.futile,
            at_least=_nearest_bound(contrast),
            geometric_mean_ratio=math.exp(fmean(rested_on)) if interval else None,
            ahead=sum(sign * difference > 0 for difference in rested_on) / len(rested_on)
            if interval
            else None,
            sentence=sentence(contrast, self.design, self.family),
            differences=tuple(map(math.exp, differences)),
            beside=beside(contrast, self.design),
            **blocks_of_decision(contrast, self.design, self.family),
            **marks_of(contrast),
        )

    def comparisons(self, judged: Judged) -> tuple[Comparison, ...]:
        """Every pair once."""
        return tuple(map(self.comparison, judged.contrasts))

    def when_read(self, judged: Judged) -> Rows[Comparison]:
        """The same, made when somebody reads one of them."""
        return Rows(partial(self.comparisons, judged))


def marks_of(contrast: Contrast) -> dict[str, bool]:
    """What must be known of the ends of its interval, see :func:`marks`."""
    own = contrast.interval
    if own is None:
        return {}
    return marks(math.exp(own.low), math.exp(own.high), own.p, own.level, contrast.verdict)


def _nearest_bound(contrast: Contrast) -> float | None:
    """The bound of the interval nearest to equality, where there is a difference."""
    if contrast.interval is None or contrast.verdict not in ("faster", "slower"):
        return None
    interval = contrast.interval
    return math.exp(interval.low if interval.estimate > 0 else interval.high)


def summaries_of(cells: Sequence[GridCell]) -> FloatArray:
    """Of each cell and system, as :func:`tiltyard.stats.summary.summarise_rows` has it.

    Returns:
        Shape (cells, systems, 5).
    """
    if not cells:
        return np.empty((0, 0, 5))
    values = np.stack([cell.values.T for cell in cells])
    return summarise_rows(values.reshape(-1, values.shape[-1])).reshape(*values.shape[:2], -1)


def cells_of(
    measured: Measured,
    cells: Sequence[GridCell],
    summaries: FloatArray,
    judged: Sequence[Judged] = (),
    builders: Iterable[ComparisonBuilder] = (),
    baseline: str = "",
) -> tuple[Cell, ...]:
    """The cells of one workload as the findings state them; details come without comparisons.

    Args:
        measured: all of the workload.
        cells: some of its cells.
        summaries: of these, see :func:`summaries_of`.
        judged: what each cell was compared in.
        builders: make the comparisons of each.
        baseline: beside whose ratios values stand.
    """
    rows = zip(
        cells, summaries, judged or repeat(None), chain(builders, repeat(None)), strict=False
    )
    return tuple(
        Cell(
            metric=cell.metric.name,
            label=cell.metric.label,
            unit=cell.metric.unit,
            shown_in=reading_unit(cell.metric.unit, network=measured.network),
            direction=cell.metric.direction,
            at=cell.at,
            at_label=cell.at_label,
            summaries=Rows(partial(_summaries, measured, cell, of, own, baseline)),
            comparisons=builder.when_read(own) if builder and own else (),
        )
        for cell, of, own, builder in rows
    )


def _ratios(judged: Judged | None, baseline: str) -> dict[str, float]:
    """System → its ratio to the baseline, of those that have one; others are never its base."""
    if judged is None:
        return {}
    rows = judged.contrasts.columns[judged.contrasts.has_interval]
    return {
        system: math.exp(estimate)
        for system, against, estimate in rows[["system", "against", "estimate"]].tolist()
        if against == baseline
    }


def _summaries(
    measured: Measured, cell: GridCell, of: FloatArray, judged: Judged | None, baseline: str
) -> Iterator[Summary]:
    """Each system's values of one cell; systems without a value are left out."""
    medians = dict(zip(measured.systems, of[:, 0].tolist(), strict=True))
    printed = beside_ratios(medians, _ratios(judged, baseline), baseline)
    usable = np.isfinite(cell.values.T)
    blocks, off = np.array(measured.blocks), np.exp(cell.quantity.rounding)
    # Of the interval of the median the ends only: a value may lie anywhere in its bin.
    rows = zip(
        measured.systems,
        cell.values.T,
        usable,
        (of / (1, off, 1 / off, 1, 1)).tolist(),
        _percentiles(cell),
        strict=True,
    )
    for system, values, own, row, percentiles in rows:
        if own.any():
            summary = ValueSummary.of(row)
            yield Summary(
                system=system,
                blocks=tuple(blocks[own].tolist()),
                values=tuple(values[own].tolist()),
                median=summary.median,
                median_low=summary.median_low,
                median_high=summary.median_high,
                mean=summary.mean,
                sd=summary.sd,
                cv=summary.cv,
                beside_ratio=None if printed[system] == summary.median else printed[system],
                percentiles={name: row[0] for name, row in percentiles.items()},
                percentile_intervals={
                    name: (low / _BIN, high * _BIN)
                    for name, (_, low, high, *_) in percentiles.items()
                    if low == low
                },
            )


_BIN: Final = math.exp(log_width(BIN_WIDTH))
"""A percentile is known to its bucket: it may be so much smaller or larger."""


def _percentiles(cell: GridCell) -> Iterator[dict[str, list[float]]]:
    """Of each system, over blocks each percentile that all blocks with operations have.

    As :func:`tiltyard.stats.summary.summarise_rows` has it; empty where operations were not timed
    one by one.
    """
    usable = np.isfinite(cell.percentiles[:, :, 0])
    for column, own in enumerate(usable.T):
        timed = cell.percentiles[own, column]
        rows = zip(PERCENTILES, summarise_rows(timed.T).tolist(), timed.T, strict=True)
        yield {name: row for name, row, each in rows if own.any() and np.isfinite(each).all()}


def index_of(
    name: str,
    label: str,
    judged: Judged,
    builder: ComparisonBuilder,
    baseline: str,
    cells: Sequence[Cell],
    medians: Mapping[str, FloatArray],
) -> Index:
    """Systems compared over several cells, with their ranked table.

    ``medians``: of each system with values in all cells, shape (cells,).
    """
    quantity = judged.quantity
    return Index(
        name=name,
        label=label,
        unit=quantity.unit,
        shown_in=cells[0].shown_in if quantity.unit else "",
        direction=quantity.direction,
        cells=quantity.cells,
        standings=_standings(judged, builder, baseline, cells, medians),
        comparisons=builder.comparisons(judged),
    )


def averages_of(cells: Sequence[Cell]) -> tuple[Average, ...]:
    """Arithmetic mean over cells of the medians, of each system with values in all of them.

    Times that all are rounded to zero have no ratio.
    """
    medians: dict[str, list[float]] = {}
    for cell in cells:
        for summary in cell.summaries:
            medians.setdefault(summary.system, []).append(summary.median)
    complete = {s: own for s, own in medians.items() if len(own) == len(cells) and any(own)}
    means = {s: fmean(own) for s, own in complete.items()}
    return tuple(
        Average(
            system=system,
            value=value,
            ratios={other: value / mean for other, mean in means.items() if other != system},
        )
        for system, value in means.items()
    )


def _standings(
    judged: Judged,
    builder: ComparisonBuilder,
    baseline: str,
    cells: Sequence[Cell],
    medians: Mapping[str, FloatArray],
) -> tuple[Standing, ...]:
    """Systems with values, best first.

    A value that has a ratio to the baseline is that of the baseline times the ratio, so ranks never
    contradict what is printed.
    """
    own = _typical_values(judged, cells, medians, baseline)
    return standings(
        beside_ratios(own, _ratios(judged, baseline), baseline),
        own,
        judged.quantity.direction,
        zip(judged.contrasts.sides, judged.contrasts.verdicts, strict=True),
        lambda system: (
            None if system == baseline else builder.comparison(judged.between(system, baseline))
        ),
        has_ranks=builder.family.correction == HOLM,
    )


def _typical_values(
    judged: Judged, cells: Sequence[Cell], medians: Mapping[str, FloatArray], baseline: str
) -> dict[str, float]:
    """System → geometric mean over cells of its medians.

    Over different units only a relation means something: then the baseline's value is 1 (or that
    of the first system, should the baseline have none), and more is better.
    """
    inverted = np.array([cell.direction != judged.quantity.direction for cell in cells])
    values = {
        system: geometric_mean(np.divide(1, own, out=own.copy(), where=inverted))
        for system, own in medians.items()
    }
    if judged.quantity.unit or not values:
        return values
    reference = values.get(baseline, next(iter(values.values())))
    return {system: value / reference for system, value in values.items()}
