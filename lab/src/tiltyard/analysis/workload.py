"""Everything that is stated about one workload, from judged quantities."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

from tiltyard.analysis.clients import client_lines
from tiltyard.analysis.contrast import Judged, Withheld
from tiltyard.analysis.model import Cell, Index, Latencies, Loss, WorkloadFindings
from tiltyard.analysis.network import Ends, what_ends_saw
from tiltyard.analysis.quantity import GridCell, Measured, Quantity, mean_quantity
from tiltyard.analysis.replication import replication
from tiltyard.analysis.statements.verdicts import answer
from tiltyard.analysis.steadiness import steadiness
from tiltyard.analysis.tables import (
    ComparisonBuilder,
    averages_of,
    cells_of,
    index_of,
    summaries_of,
)
from tiltyard.analysis.verdict import Verdict
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.stats.types import FloatArray
from tiltyard.study.renamed import parameters_today


@dataclass(frozen=True)
class Quantities:
    """What is compared of one workload."""

    measured: Measured
    index: Quantity
    """Over all headline cells."""
    metrics: tuple[Quantity, ...]
    """Over the grid, for each headline metric that has several cells, where there are several
    metrics; any other mean would be a second name for something compared already."""
    latencies: tuple[Quantity, ...]
    """The time of one operation at each point, and last over the grid where it has several."""

    @property
    def family(self) -> tuple[Quantity, ...]:
        """Cells, metrics, latencies: what is corrected by the false discovery rate.

        A cell that is the only one is the index, and judged there.
        """
        cells = self.measured.cells if len(self.measured.cells) > 1 else ()
        return (*(cell.quantity for cell in cells), *self.metrics, *self.latencies)


@dataclass(frozen=True)
class JudgedWorkload:
    """The same, judged."""

    measured: Measured
    index: Judged
    cells: tuple[Judged, ...]
    """Of a single cell the index itself: one verdict and one interval."""
    metrics: tuple[Judged, ...]
    latencies: tuple[Judged, ...]

    @property
    def family(self) -> tuple[Judged, ...]:
        """All but the index, in the order of :attr:`Quantities.family`."""
        return (*(self.cells if len(self.cells) > 1 else ()), *self.metrics, *self.latencies)

    @property
    def judged(self) -> tuple[Judged, ...]:
        """All of them, the index first."""
        return (self.index, *self.family)

    @property
    def by_metric(self) -> tuple[Judged, ...]:
        """Each headline metric over the grid: its mean, or its one cell; none for one metric."""
        groups = cells_by_metric(self.measured)
        if len(groups) < 2:
            return ()
        means, cells = iter(self.metrics), iter(self.cells)
        own = [[next(cells) for _ in group] for group in groups]
        return tuple(next(means) if len(of_metric) > 1 else of_metric[0] for of_metric in own)


def cells_by_metric(measured: Measured) -> list[list[GridCell]]:
    """The headline cells, grouped by metric."""
    grouped = groupby(measured.cells, key=lambda cell: cell.metric.name)
    return [list(cells) for _, cells in grouped]


def quantities_of(measured: Measured) -> Quantities | None:
    """What to compare of one workload; ``None`` while no trial of it is done."""
    if not measured.cells:
        return None
    name = measured.workload.display
    groups = cells_by_metric(measured)
    metrics = [mean_quantity(name, cells) for cells in groups if len(groups) > 1 and len(cells) > 1]
    latencies = [cell.quantity for cell in measured.latencies]
    if len(latencies) > 1:
        latencies.append(mean_quantity(name, measured.latencies))
    if len(measured.cells) == 1:
        index = measured.cells[0].quantity
    else:
        index = mean_quantity(name, measured.cells)
    return Quantities(measured, index, tuple(metrics), tuple(latencies))


def unmeasured(measured: Measured, withheld: Withheld | None) -> WorkloadFindings:
    """What can be said of a workload of which no trial counts."""
    spec = measured.workload.spec
    empty = Index(
        name=spec.name,
        label=measured.workload.display,
        unit="",
        shown_in="",
        direction="higher",
        cells=0,
        standings=(),
        comparisons=(),
    )
    answer = f"No verdict yet on {measured.workload.display}: no trial of it is done."
    if withheld:
        answer = f"No verdict on {measured.workload.display}: {withheld.reason}."
    return _findings(measured, answer, empty, Counter())


def workload_findings(
    judged: JudgedWorkload,
    plan: Plan,
    run: RunRecord,
    headline: ComparisonBuilder,
    grid: ComparisonBuilder,
) -> WorkloadFindings:
    """The tables and the answer of one workload.

    Args:
        judged: its judged quantities.
        plan: baseline and rules.
        run: what the ends of a network saw in each trial.
        headline: builds comparisons of the index.
        grid: builds comparisons of cells and metrics.
    """
    measured = judged.measured
    name = measured.workload.spec.name
    of_cells = headline if len(judged.cells) == 1 else grid
    summaries = summaries_of(measured.cells)
    comparisons = map(of_cells.when_read, judged.cells)
    cells = cells_of(measured, measured.cells, summaries, comparisons)
    topic, medians = judged.index.quantity.topic, _medians(measured, summaries)
    index = index_of(name, topic, judged.index, headline, plan.baseline, cells, medians)
    return _findings(
        measured,
        answer(index, judged.index, plan, headline.family),
        index,
        Counter(verdict for cell in judged.cells for verdict in cell.contrasts.verdicts),
        by_metric=_by_metric(judged, cells, summaries, plan.baseline, grid),
        cells=cells,
        latencies=_latencies(judged, plan.baseline, grid),
        losses=_losses(index, judged, of_cells),
        ends=what_ends_saw(measured),
    ).model_copy(
        update={
            "steadiness": steadiness(measured) if plan.clock == "time" else None,
            "replication": replication(plan, run, measured.workload),
            "clients": client_lines(measured.trials),
        }
    )


def _findings(
    measured: Measured,
    sentence: str,
    index: Index,
    counts: Mapping[Verdict, int],
    by_metric: tuple[Index, ...] = (),
    cells: tuple[Cell, ...] = (),
    latencies: Latencies | None = None,
    losses: tuple[Loss, ...] = (),
    ends: Ends | None = None,
) -> WorkloadFindings:
    workload = measured.workload
    tally: dict[Verdict, int] = {verdict: counts[verdict] for verdict in get_args(Verdict)}
    return WorkloadFindings(
        name=workload.spec.name,
        title=workload.title,
        use=workload.spec.use,
        about=workload.about,
        lineage=workload.lineage,
        timing=workload.timing,
        effective=parameters_today(workload.effective),
        grid=workload.grid,
        answer=sentence,
        index=index,
        by_metric=by_metric,
        cells=cells,
        latencies=latencies,
        details=cells_of(measured, measured.details, summaries_of(measured.details)),
        ends=ends or {},
        losses=losses,
        tally=tally,
    )


def _medians(measured: Measured, summaries: FloatArray) -> dict[str, FloatArray]:
    """Of each system with values in all of some cells, shape (cells,).

    A time that a tool rounds to 0.000 ms has no logarithm, so it is none that a mean can hold.
    """
    columns = zip(measured.systems, summaries[:, :, 0].T, strict=True)
    return {system: own for system, own in columns if (own > 0).all()}


def _by_metric(
    judged: JudgedWorkload,
    cells: Sequence[Cell],
    summaries: FloatArray,
    baseline: str,
    builder: ComparisonBuilder,
) -> tuple[Index, ...]:
    """One index for each metric; that of a metric with one cell is that cell's own comparison."""
    indices, end = [], 0
    for group, judgement in zip(cells_by_metric(judged.measured), judged.by_metric, strict=False):
        begin, end = end, end + len(group)
        medians = _medians(judged.measured, summaries[begin:end])
        name, label = group[0].metric.name, group[0].metric.label
        own = cells[begin:end]
        indices.append(index_of(name, label, judgement, builder, baseline, own, medians))
    return tuple(indices)


def _latencies(
    judged: JudgedWorkload, baseline: str, builder: ComparisonBuilder
) -> Latencies | None:
    """The time of one operation; ``None`` where the workload does not tell it."""
    measured = judged.measured
    if not measured.latencies:
        return None
    own = judged.latencies[: len(measured.latencies)]
    summaries = summaries_of(measured.latencies)
    cells = cells_of(measured, measured.latencies, summaries, map(builder.when_read, own))
    over_all, medians = judged.latencies[-1], _medians(measured, summaries)
    name, topic = measured.latencies[0].metric.name, over_all.quantity.topic
    return Latencies(
        cells=cells,
        index=index_of(name, topic, over_all, builder, baseline, cells, medians),
        averages=averages_of(cells),
    )


def _losses(index: Index, judged: JudgedWorkload, builder: ComparisonBuilder) -> tuple[Loss, ...]:
    """The cells in which the first of the ranked table is slower than another system."""
    if not index.standings:
        return ()
    best = index.standings[0].system
    others = [standing.system for standing in index.standings[1:]]
    places = [(other, *judged.index.place(best, other)) for other in others]
    return tuple(
        Loss(label=cell.label, comparison=builder.comparison(judgement.between(best, other)))
        for cell, judgement in zip(judged.measured.cells, judged.cells, strict=True)
        for verdicts in (judgement.contrasts.columns["verdict"],)
        for other, place, turned in places
        if verdicts[place] == ("faster" if turned else "slower")
    )
