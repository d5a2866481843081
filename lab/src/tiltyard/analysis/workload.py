"""Everything that is stated about one workload, from judged quantities."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from typing import get_args

from tiltyard.analysis.alike import alike
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


@dataclass(frozen=True)
class Quantities:
    """What is compared of one workload."""

    measured: Measured
    index: Quantity
    """Over the headline cells that are alike; a single such cell is the index, and so
    is the mean over a metric that alone is of its kind."""
    metrics: tuple[Quantity, ...]
    """Over the grid, for each headline metric that has several cells, where there are several
    metrics; any other mean would be a second name for something compared already."""
    latencies: tuple[Quantity, ...]
    """The time of one operation at each point, and last over the grid where it has several."""
    cpu_time: Quantity | None
    """Beside the time that work takes; those of all workloads are a family by themselves."""

    @property
    def family(self) -> tuple[Quantity, ...]:
        """Cells, metrics, latencies: what is corrected by the false discovery rate.

        What is the index is judged there.
        """
        cells = (cell.quantity for cell in self.measured.cells)
        return tuple(
            own for own in (*cells, *self.metrics, *self.latencies) if own is not self.index
        )


@dataclass(frozen=True)
class JudgedWorkload:
    """The same, judged."""

    measured: Measured
    index: Judged
    cells: tuple[Judged, ...]
    """Of what is the index the index itself, as of metrics: one verdict and one interval."""
    metrics: tuple[Judged, ...]
    latencies: tuple[Judged, ...]
    cpu_time: Judged | None

    @property
    def family(self) -> tuple[Judged, ...]:
        """All but the index, in the order of :attr:`Quantities.family`."""
        found = (*self.cells, *self.metrics, *self.latencies)
        return tuple(own for own in found if own is not self.index)

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
    headline = alike(measured.cells, lambda cell: cell.metric)
    one = len(headline) == 1
    index = headline[0].quantity if one else mean_quantity(name, headline)
    metrics = [
        index
        if cells[0] is headline[0] and len(cells) == len(headline)
        else mean_quantity(name, cells)
        for cells in groups
        if len(groups) > 1 and len(cells) > 1
    ]
    latencies = [cell.quantity for cell in measured.latencies]
    if len(latencies) > 1:
        latencies.append(mean_quantity(name, measured.latencies))
    cpu_time = None if measured.cpu_time is None else measured.cpu_time.quantity
    return Quantities(measured, index, tuple(metrics), tuple(latencies), cpu_time)


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
    cpu_times: ComparisonBuilder,
) -> WorkloadFindings:
    """The tables and the answer of one workload.

    Args:
        judged: its judged quantities.
        plan: baseline and rules.
        run: what the ends of a network saw in each trial.
        headline: builds comparisons of the index.
        grid: builds comparisons of cells and metrics.
        cpu_times: builds those of CPU time.
    """
    measured = judged.measured
    name = measured.workload.spec.name

    def builder_of(own: Judged) -> ComparisonBuilder:
        return headline if own is judged.index else grid

    summaries = summaries_of(measured.cells)
    builders = map(builder_of, judged.cells)
    cells = cells_of(measured, measured.cells, summaries, judged.cells, builders, plan.baseline)
    topic = judged.index.quantity.topic
    whole = set(map(id, alike(measured.cells, lambda cell: cell.metric)))
    places = [place for place, cell in enumerate(measured.cells) if id(cell) in whole]
    medians = _medians(measured, summaries[places])
    own = [cells[place] for place in places]
    index = index_of(name, topic, judged.index, headline, plan.baseline, own, medians)
    return _findings(
        measured,
        answer(index, judged.index, plan, headline.family),
        index,
        Counter(verdict for cell in judged.cells for verdict in cell.contrasts.verdicts),
        by_metric=_by_metric(judged, cells, summaries, plan.baseline, builder_of),
        cells=cells,
        latencies=_latencies(judged, plan.baseline, grid),
        losses=_losses(index, judged, builder_of),
        ends=what_ends_saw(measured),
    ).model_copy(
        update={
            "steadiness": steadiness(measured) if plan.clock == "time" else None,
            "replication": replication(plan, run, measured.workload),
            "clients": client_lines(measured.trials),
            "cpu_time": _cpu_time(judged, plan.baseline, cpu_times),
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
        effective=workload.effective,
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
    builder_of: Callable[[Judged], ComparisonBuilder],
) -> tuple[Index, ...]:
    """One index for each metric; that of a metric with one cell is that cell's own comparison."""
    indices, end = [], 0
    for group, judgement in zip(cells_by_metric(judged.measured), judged.by_metric, strict=False):
        begin, end = end, end + len(group)
        medians = _medians(judged.measured, summaries[begin:end])
        name, label = group[0].metric.name, group[0].metric.label
        own, builder = cells[begin:end], builder_of(judgement)
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
    cells = cells_of(measured, measured.latencies, summaries, own, repeat(builder), baseline)
    over_all, medians = judged.latencies[-1], _medians(measured, summaries)
    name, topic = measured.latencies[0].metric.name, over_all.quantity.topic
    return Latencies(
        cells=cells,
        index=index_of(name, topic, over_all, builder, baseline, cells, medians),
        averages=averages_of(cells),
    )


def _cpu_time(judged: JudgedWorkload, baseline: str, builder: ComparisonBuilder) -> Index | None:
    """``None`` where it is not compared."""
    own, cell = judged.cpu_time, judged.measured.cpu_time
    if own is None or cell is None:
        return None
    summaries = summaries_of((cell,))
    cells = cells_of(judged.measured, (cell,), summaries)
    medians = _medians(judged.measured, summaries)
    name, topic = cell.metric.name, own.quantity.topic
    return index_of(name, topic, own, builder, baseline, cells, medians)


def _losses(
    index: Index, judged: JudgedWorkload, builder_of: Callable[[Judged], ComparisonBuilder]
) -> tuple[Loss, ...]:
    """The cells in which the first of the ranked table is slower than another system."""
    if not index.standings:
        return ()
    best = index.standings[0].system
    others = [standing.system for standing in index.standings[1:]]
    places = [(other, *judged.index.place(best, other)) for other in others]
    return tuple(
        Loss(
            label=cell.label,
            comparison=builder_of(judgement).comparison(judgement.between(best, other)),
        )
        for cell, judgement in zip(judged.measured.cells, judged.cells, strict=True)
        for verdicts in (judgement.contrasts.columns["verdict"],)
        for other, place, turned in places
        if verdicts[place] == ("faster" if turned else "slower")
    )
