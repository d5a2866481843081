"""From a collection to findings, in the same form as those of a study that was run here.

The cells of all workloads are one family (Benjamini–Hochberg), the workloads' means the other
(Holm), as in a study of ours; but nothing here was randomised, and what the source did not keep
stands beside every verdict.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tiltyard import __version__
from tiltyard.analysis.alike import alike
from tiltyard.analysis.collected.answer import answer
from tiltyard.analysis.collected.courses import Collected, courses_of, observe_courses
from tiltyard.analysis.collected.limits import limits
from tiltyard.analysis.collected.over import told_over_studies
from tiltyard.analysis.collected.tables import averages_of, cell, differing, index
from tiltyard.analysis.collected.verdicts import compare, over_tests, pairs_in
from tiltyard.analysis.dataset import CollectedQuantity, Dataset, Point
from tiltyard.analysis.model import (
    FORMAT,
    Cell,
    Comparison,
    Findings,
    Index,
    Loss,
    Notice,
    SystemFindings,
    WorkloadFindings,
)
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.statements.headline import with_headline
from tiltyard.analysis.statements.numbers import widened_note
from tiltyard.analysis.statements.registry import with_observations
from tiltyard.analysis.systems import advantages, asked_factor
from tiltyard.analysis.workload import Compared, by_metric, compared, empty_index, tally_of
from tiltyard.collected.audited import Audited
from tiltyard.collected.model import CollectedWorkload, Collection, Origin
from tiltyard.plan.model import Design
from tiltyard.units import count_of


@dataclass(frozen=True)
class _Gathered:
    """One workload with what was read of it."""

    workload: CollectedWorkload
    headline: Sequence[Point]
    details: Sequence[Point]


_Work: TypeAlias = Compared[_Gathered, CollectedQuantity]


def analyse_collection(collection: Collection, audit: Sequence[Audited] = ()) -> Findings:
    """All findings about results that were collected elsewhere; pure.

    Args:
        collection: the results.
        audit: what came of holding its author's claims against it.
    """
    dataset, unit = Dataset.of_collection(collection), _unit(collection.origin)
    gathered = [_gathered(*one, dataset) for one in enumerate(collection.workloads)]
    works = [_work(own, dataset) for own in gathered]
    within = collection.equivalent_within
    design = Design(
        profile="collected",
        strict=False,
        looks=(),
        alpha=0.05,
        equivalent_within=within,
        false_discovery_rate=0.05,
    )
    judged, family, headlines = _judged(list(filter(None, works)), collection.baseline, design)
    workloads = with_observations(
        [_findings(*one, judged, collection) for one in zip(gathered, works, strict=True)],
        observe_courses([_courses(own, dataset, within) for own in gathered])
        if unit == "value"
        else {},
    )
    overall = _overall(gathered, dataset, collection.baseline, design)
    levels = {one.name: one.levels for one in collection.systems}
    asked = collection.asks or asked_factor(collection.question, levels)
    findings = Findings(
        format=FORMAT,
        tiltyard=__version__,
        engine="",
        plan_hash=collection.hash,
        seed=0,
        question=collection.question,
        decide=collection.decide,
        answer="",
        systems=tuple(
            SystemFindings(name=one.name, levels=one.levels, facts=one.facts, commands=one.commands)
            for one in collection.systems
        ),
        baseline=collection.baseline,
        differences=(),
        advantages=advantages(levels, collection.baseline, asked),
        design=design,
        design_sentence=_design_sentence(within, family, headlines),
        blocks_done=0,
        blocks_planned=0,
        look=0,
        family=family,
        trials_kept=0,
        trials_failed=0,
        resolution_percent=None,
        stopped=None,
        conditions_sentence="",
        workloads=workloads,
        overall=overall,
        trials=(),
        drifts=(),
        notices=_warnings((*_extended(workloads, overall), *limits(collection))),
        host=collection.host,
        complete=True,
        unit=unit,
        provenance=collection.origin,
        kept=collection.kept,
        audit=tuple(audit),
        plugins=collection.plugins,
    )
    return with_headline(findings) if unit == "value" else told_over_studies(findings)


def _unit(source: Origin) -> Literal["value", "session", "study"]:
    """What is replicated; of several studies a session is, and pooled a study, not the value."""
    if not source.studies:
        return "value"
    return "study" if source.pooled else "session"


def _courses(own: _Gathered, dataset: Dataset, within: float) -> Collected:
    courses = courses_of(dataset, by_metric(own.headline))
    return Collected(own.workload.name, tuple(courses), math.log1p(within))


def _warnings(texts: Sequence[str]) -> tuple[Notice, ...]:
    return tuple(Notice(severity="warning", text=text) for text in texts)


def _extended(
    workloads: Sequence[WorkloadFindings], overall: Sequence[Comparison]
) -> Iterator[str]:
    """How many intervals were widened; each has its mark where it stands."""
    pairs = [
        *overall,
        *(pair for own in workloads for pair in own.index.comparisons),
        *(pair for own in workloads for test in own.by_metric for pair in test.comparisons),
        *(pair for own in workloads for one in own.cells for pair in one.comparisons),
    ]
    # The pairs of a test with one point are those of the point.
    count = len({id(pair) for pair in pairs if pair.extended})
    if count:
        yield widened_note(count)


def _overall(
    gathered: Sequence[_Gathered], dataset: Dataset, baseline: str, design: Design
) -> tuple[Comparison, ...]:
    """Every pair over the tests that are alike: a family by itself."""
    every = [own for one in gathered for own in by_metric(one.headline)]
    tests = [dataset.over(own, "") for own in alike(every, lambda own: own[0].metric)]
    if len(tests) < 2:
        return ()
    return tuple(compare(pairs_in(over_tests(tests), baseline), design, together=True))


def _judged(
    works: Sequence[_Work], baseline: str, design: Design
) -> tuple[dict[CollectedQuantity, list[Comparison]], int, int]:
    """Quantity → every pair of systems; how many of the grid, and of whole workloads."""
    grid = [own for work in works for own in work.family]
    found: dict[CollectedQuantity, list[Comparison]] = {}
    sizes = []
    for own, together in ((grid, False), ([work.index for work in works], True)):
        pairs = [pair for one in own for pair in pairs_in(one, baseline)]
        found.update((one, []) for one in own)
        for pair, comparison in zip(pairs, compare(pairs, design, together), strict=True):
            found[pair.quantity].append(comparison)
        sizes.append(len(pairs))
    family, headlines = sizes
    return found, family, headlines


def _gathered(number: int, workload: CollectedWorkload, dataset: Dataset) -> _Gathered:
    found = dataset.points_of.get(number, [])
    headline = [point for point in found if point.metric.headline]
    return _Gathered(workload, headline, [point for point in found if not point.metric.headline])


def _work(own: _Gathered, dataset: Dataset) -> _Work | None:
    """What is compared of a workload; ``None`` where nothing was read that is."""
    # What one system alone has is compared with nothing, and is no part of what all have.
    shared = [point for point in own.headline if len(point.readings) > 1] or own.headline
    whole = (*alike(shared, lambda point: point.metric),)

    def over(points: tuple[Point, ...]) -> CollectedQuantity:
        if len(points) == 1:
            return dataset.over(points, points[0].topic)
        label = own.workload.display if points == whole else points[0].metric.label
        return dataset.over(points, label)

    return compared(own, own.headline, whole, over) if whole else None


def _findings(
    own: _Gathered,
    work: _Work | None,
    judged: Mapping[CollectedQuantity, list[Comparison]],
    collection: Collection,
) -> WorkloadFindings:
    workload, baseline = own.workload, collection.baseline
    whole = empty_index(workload.name, workload.display)
    tables, cells = tuple[Index, ...](), tuple[Cell, ...]()
    if work is not None:
        cells = tuple(cell(one.points[0], judged[one], baseline) for one in work.cells)
        tables = tuple(
            index(metric.name, metric.label, one, judged[one], baseline, together=False)
            for one in work.by_metric
            for metric in (one.points[0].metric,)
        )
        metrics = {point.metric.name: point.metric.label for point in work.index.points}
        label = workload.display if len(metrics) > 1 else metrics.popitem()[1]
        every = judged[work.index]
        whole = index(workload.name, label, work.index, every, baseline, together=True)
    times = bool(own.headline) and all(p.metric.name == "latency" for p in own.headline)
    means = averages_of(own.headline) if times else ()
    return WorkloadFindings(
        name=workload.name,
        title=workload.title,
        use=workload.use,
        about=workload.about,
        lineage=workload.lineage,
        timing="",
        effective=dict(workload.parameters),
        grid=workload.grid,
        answer=answer(whole, own.headline, own.details),
        index=whole,
        by_metric=tables,
        cells=cells,
        latencies=None,
        details=tuple(cell(point, (), "") for point in own.details),
        ends={},
        losses=_losses(whole, cells),
        tally=tally_of(found.verdict for one in cells for found in one.comparisons),
        averages=means,
        commands=workload.commands,
        differing=differing(workload, whole, means),
    )


def _losses(whole: Index, cells: Sequence[Cell]) -> tuple[Loss, ...]:
    """The cells in which the first by estimate was found worse than another system."""
    best = whole.standings[0].system if whole.standings else ""
    own = (
        (one, pair if pair.system == best else turned(pair))
        for one in cells
        for pair in one.comparisons
        if best in (pair.system, pair.against)
    )
    return tuple(
        Loss(label=", ".join(filter(None, (one.label, one.at_label))), comparison=pair)
        for one, pair in own
        if pair.verdict == "slower"
    )


def _design_sentence(within: float, family: int, headlines: int) -> str:
    if not family + headlines:
        return "Nothing was measured here, and no values were kept that could be compared."
    cells = (
        f"{count_of(family, 'comparison was', 'comparisons were')} corrected together "
        "(Benjamini–Hochberg at 5 %), and the "
        "intervals of their differences for having been selected; "
        if family
        else ""
    )
    return (
        "These values were not measured here: nothing is known of a plan. Ratios are of means, or "
        "of the means of logarithms; intervals are Welch's on the log scale where three values of "
        "each side or more, or their spread, were kept, exact signed ranks where blocks are "
        "paired, and absent otherwise. Over several cells replicates are averaged first, run by "
        "run, where all cells have as many; else the errors of the cells are taken as fully "
        "dependent. A number counts as anything that rounds to it. Differences within "
        f"{100 * within:g} % are within the equivalence margin; “equivalent” is said of each "
        "comparison by itself. "
        f"{cells}the {headlines} of whole workloads by Holm, with simultaneous 95 % intervals."
    )
