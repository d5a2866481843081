"""Judged quantities as the tables of the findings: comparisons, cells, indices, standings."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from statistics import fmean
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast, Judged
from tiltyard.analysis.model import Average, Cell, Comparison, Index, Summary
from tiltyard.analysis.other_analysis import other_analysis
from tiltyard.analysis.pairs import beside_ratios, standings
from tiltyard.analysis.quantity import GridCell, Measured, Quantity, log_width
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
            beside=other_analysis(contrast, self.design),
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


@dataclass(frozen=True, eq=False)
class Table:
    """Cells of one workload as the findings state them, and means over them."""

    measured: Measured
    grid: Sequence[GridCell]
    baseline: str = ""
    """Beside whose ratios values stand."""
    judged: Sequence[tuple[Judged, ComparisonBuilder]] = ()
    """What each cell was compared in; details come without comparisons."""

    @cached_property
    def _summaries(self) -> FloatArray:
        """Of each cell and system, see :func:`summarise_rows`; shape (cells, systems, 5)."""
        if not self.grid:
            return np.empty((0, 0, 5))
        values = np.stack([cell.values.T for cell in self.grid])
        rows = summarise_rows(values.reshape(-1, values.shape[-1]))
        return rows.reshape(*values.shape[:2], -1)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All of them."""
        judged = self.judged or repeat((None, None))
        rows = zip(self.grid, self._summaries, judged, strict=False)
        return tuple(
            Cell(
                metric=cell.metric.name,
                label=cell.metric.label,
                unit=cell.metric.unit,
                shown_in=reading_unit(cell.metric.unit, network=self.measured.network),
                direction=cell.metric.direction,
                at=cell.at,
                at_label=cell.at_label,
                summaries=Rows(partial(_summaries, self.measured, cell, of, own, self.baseline)),
                comparisons=builder.when_read(own) if builder and own else (),
            )
            for cell, of, (own, builder) in rows
        )

    def index(
        self,
        name: str,
        label: str,
        judged: Judged,
        builder: ComparisonBuilder,
        over: Sequence[GridCell],
    ) -> Index:
        """Systems compared over several of the cells, with their ranked table."""
        places = [self._places[cell] for cell in over]
        # A time that a tool rounds to 0.000 ms has no logarithm: it is none that a mean can hold.
        columns = zip(self.measured.systems, self._summaries[places, :, 0].T, strict=True)
        medians = {system: own for system, own in columns if (own > 0).all()}
        quantity, contrasts = judged.quantity, judged.contrasts
        own = _typical_values(quantity, over, medians, self.baseline)
        return Index(
            name=name,
            label=label,
            unit=quantity.unit,
            shown_in=self.cells[places[0]].shown_in if quantity.unit else "",
            direction=quantity.direction,
            cells=quantity.cells,
            # A value that has a ratio to the baseline is that of the baseline times the ratio, so
            # ranks never contradict what is printed.
            standings=standings(
                beside_ratios(own, _ratios(judged, self.baseline), self.baseline),
                own,
                quantity.direction,
                zip(contrasts.sides, contrasts.verdicts, strict=True),
                lambda system: (
                    None
                    if system == self.baseline
                    else builder.comparison(judged.pair(system, self.baseline))
                ),
                has_ranks=builder.family.correction == HOLM,
            ),
            comparisons=builder.comparisons(judged),
        )

    @cached_property
    def _places(self) -> Mapping[GridCell, int]:
        return {cell: place for place, cell in enumerate(self.grid)}


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
    blocks, off = np.array(measured.blocks), np.exp(cell.rounding)
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


def _typical_values(
    quantity: Quantity,
    over: Sequence[GridCell],
    medians: Mapping[str, FloatArray],
    baseline: str,
) -> dict[str, float]:
    """System → geometric mean over cells of its medians.

    Over different units only a relation means something: then the baseline's value is 1 (or that
    of the first system, should the baseline have none), and more is better.
    """
    inverted = np.array([cell.direction != quantity.direction for cell in over])
    values = {
        system: geometric_mean(np.divide(1, own, out=own.copy(), where=inverted))
        for system, own in medians.items()
    }
    if quantity.unit or not values:
        return values
    reference = values.get(baseline, next(iter(values.values())))
    return {system: value / reference for system, value in values.items()}


def averages(
    cells: Sequence[Mapping[str, float]], shown: Callable[[float], float] = float
) -> tuple[Average, ...]:
    """Arithmetic mean over cells of each system with values in all of them, and ratios of these.

    Times that all are rounded to zero have no ratio.

    Args:
        cells: of each system → its value.
        shown: a mean as it is printed, so that ratios are those of what is shown.
    """
    complete = [name for name in (cells[0] if cells else ()) if all(name in own for own in cells)]
    means = {name: shown(fmean(own[name] for own in cells)) for name in complete}
    means = {name: mean for name, mean in means.items() if mean}
    return tuple(
        Average(
            system=system,
            value=value,
            ratios={other: value / mean for other, mean in means.items() if other != system},
        )
        for system, value in means.items()
    )
