"""Everything that is stated about one workload, from judged quantities."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, get_args

from tiltyard.analysis.alike import Measure, alike
from tiltyard.analysis.clients import client_lines
from tiltyard.analysis.contrast import Judged, NoVerdict
from tiltyard.analysis.model import Index, Latencies, Loss, WorkloadFindings
from tiltyard.analysis.network import what_ends_saw
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.quantity import GridCell, Measured, Quantity, mean_over
from tiltyard.analysis.replication import replication
from tiltyard.analysis.statements.verdicts import answer
from tiltyard.analysis.steadiness import steadiness
from tiltyard.analysis.tables import ComparisonBuilder, Table, averages
from tiltyard.analysis.verdict import Verdict
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord


class _OfMetric(Protocol):
    @property
    def metric(self) -> Measure: ...


_Cell = TypeVar("_Cell", bound=_OfMetric)
_Of = TypeVar("_Of")
_Own = TypeVar("_Own")
_Other = TypeVar("_Other")


@dataclass(frozen=True)
class Compared(Generic[_Of, _Own]):
    """What is compared of one workload: quantities, or the same judged."""

    measured: _Of
    index: _Own
    """Over the headline cells that are alike; a single such cell is the index, and so
    is the mean over a metric that alone is of its kind."""
    cells: tuple[_Own, ...]
    """The headline ones."""
    by_metric: tuple[_Own, ...]
    """Each headline metric over the grid: its mean, or its one cell; none for one metric."""
    latencies: tuple[_Own, ...]
    """The time of one operation at each point, and last over the grid where it has several."""
    cpu_time: _Own | None
    """Beside the time that work takes; those of all workloads are a family by themselves."""

    @property
    def every(self) -> tuple[_Own, ...]:
        """All but the CPU time, each once, the index first."""
        return (*dict.fromkeys((self.index, *self.cells, *self.by_metric, *self.latencies)),)

    @property
    def family(self) -> tuple[_Own, ...]:
        """All but the index: what is corrected by the false discovery rate."""
        return self.every[1:]

    def map(self, of: Callable[[_Own], _Other]) -> "Compared[_Of, _Other]":
        """The same of each; what is the index stays one with it."""
        found = {one: of(one) for one in self.every}
        several = (self.cells, self.by_metric, self.latencies)
        cells, by_metric, latencies = (tuple(found[one] for one in own) for own in several)
        cpu_time = None if self.cpu_time is None else of(self.cpu_time)
        return Compared(self.measured, found[self.index], cells, by_metric, latencies, cpu_time)


Quantities: TypeAlias = Compared[Measured, Quantity]
JudgedWorkload: TypeAlias = Compared[Measured, Judged]


def compared(
    measured: _Of,
    cells: Sequence[_Cell],
    headline: Sequence[_Cell],
    over: Callable[[tuple[_Cell, ...]], _Own],
    latencies: tuple[_Own, ...] = (),
    cpu_time: _Own | None = None,
) -> Compared[_Of, _Own]:
    """What is compared of the headline cells of a workload, and beside them.

    Args:
        measured: all of it.
        cells: the headline ones, metric by metric.
        headline: those of them whose mean is the index.
        over: one cell, or the mean over several ones, as a quantity.
        latencies: as :class:`Compared` has them.
        cpu_time: as :class:`Compared` has it.
    """
    once, groups = cache(over), by_metric(cells)
    return Compared(
        measured,
        once((*headline,)),
        tuple(once((cell,)) for cell in cells),
        tuple(once(own) for own in groups if len(groups) > 1),
        latencies,
        cpu_time,
    )


def by_metric(cells: Sequence[_Cell]) -> list[tuple[_Cell, ...]]:
    """The cells of each metric."""
    return [(*own,) for _, own in groupby(cells, key=lambda cell: cell.metric.name)]


def empty_index(name: str, label: str) -> Index:
    """Where nothing is compared."""
    return Index(
        name=name,
        label=label,
        unit="",
        shown_in="",
        direction="higher",
        cells=0,
        standings=(),
        comparisons=(),
    )


def tally_of(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """How many there are of each."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in get_args(Verdict)}


def quantities_of(measured: Measured) -> Quantities | None:
    """What to compare of one workload; ``None`` while no trial of it is done."""
    if not measured.cells:
        return None

    def over(cells: Sequence[GridCell]) -> Quantity:
        return cells[0] if len(cells) == 1 else mean_over(measured.workload.display, cells)

    latencies = measured.latencies
    mean = (over(latencies),) if len(latencies) > 1 else ()
    headline = alike(measured.cells, lambda cell: cell.metric)
    beside = ((*latencies, *mean), measured.cpu_time)
    return compared(measured, measured.cells, headline, over, *beside)


def unmeasured(measured: Measured, withheld: NoVerdict | None) -> WorkloadFindings:
    """What can be said of a workload of which no trial counts."""
    answer = f"No verdict yet on {measured.workload.display}: no trial of it is done."
    if withheld:
        answer = f"No verdict on {measured.workload.display}: {withheld.reason}."
    index = empty_index(measured.workload.spec.name, measured.workload.display)
    return _findings(measured, answer, index)


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

    def table(cells: Sequence[GridCell], own: Sequence[Judged] = ()) -> Table:
        return Table(measured, cells, plan.baseline, [(one, builder_of(one)) for one in own])

    whole = alike(measured.cells, lambda cell: cell.metric)
    headlines = table(measured.cells, judged.cells)
    index = headlines.index(name, judged.index.quantity.topic, judged.index, headline, whole)
    latencies = cpu_time = None
    if own := measured.latencies:
        times, over = table(own, judged.latencies[: len(own)]), judged.latencies[-1]
        latencies = Latencies(
            cells=times.cells,
            index=times.index(own[0].metric.name, over.quantity.topic, over, grid, own),
            averages=averages([{s.system: s.median for s in c.summaries} for c in times.cells]),
        )
    if (cell := measured.cpu_time) and (spent := judged.cpu_time):
        named = cell.metric.name, spent.quantity.topic
        cpu_time = table((cell,)).index(*named, spent, cpu_times, (cell,))
    return _findings(
        measured,
        answer(index, judged.index, plan, headline.family),
        index,
        tally=tally_of(verdict for cell in judged.cells for verdict in cell.contrasts.verdicts),
        by_metric=tuple(
            headlines.index(own[0].metric.name, own[0].metric.label, over, builder_of(over), own)
            for own, over in zip(by_metric(measured.cells), judged.by_metric, strict=False)
        ),
        cells=headlines.cells,
        latencies=latencies,
        losses=_losses(index, judged, builder_of),
        ends=what_ends_saw(measured),
        steadiness=steadiness(measured) if plan.clock == "time" else None,
        replication=replication(plan, run, measured.workload),
        clients=client_lines(measured.trials),
        cpu_time=cpu_time,
    )


def _findings(measured: Measured, sentence: str, index: Index, **told: Any) -> WorkloadFindings:
    """With what is told of what was measured, if anything."""
    workload = measured.workload
    nothing: dict[str, Any] = {
        "by_metric": (),
        "cells": (),
        "latencies": None,
        "ends": {},
        "losses": (),
    }
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
        details=Table(measured, measured.details).cells,
        **{**nothing, "tally": tally_of(()), **told},
    )


def _losses(
    index: Index, judged: JudgedWorkload, builder_of: Callable[[Judged], ComparisonBuilder]
) -> tuple[Loss, ...]:
    """The cells in which the first of the ranked table is slower than another system."""
    if not index.standings:
        return ()
    best = index.standings[0].system
    sides = judged.index.contrasts.sides
    places = [judged.index.place(best, standing.system) for standing in index.standings[1:]]
    lost = {place: "slower" if sides[place][0] == best else "faster" for place in places}
    return tuple(
        Loss(label=cell.label, comparison=own if own.system == best else turned(own))
        for cell, judgement in zip(judged.measured.cells, judged.cells, strict=True)
        for verdicts in (judgement.contrasts.columns["verdict"],)
        for place, verdict in lost.items()
        if verdicts[place] == verdict
        for own in (builder_of(judgement).comparison(judgement.contrasts[place]),)
    )
