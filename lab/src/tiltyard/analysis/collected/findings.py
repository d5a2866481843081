"""From a collection to findings, in the same form as those of a study that was run here.

The cells of all workloads are one family (Benjamini–Hochberg), the workloads' means the other
(Holm), as in a study of ours; but nothing here was randomised, and what the source did not keep
stands beside every verdict.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import get_args

from tiltyard import __version__
from tiltyard.analysis.alike import alike
from tiltyard.analysis.collected.answer import answer
from tiltyard.analysis.collected.courses import Collected, courses_of, observe_courses
from tiltyard.analysis.collected.limits import limits
from tiltyard.analysis.collected.over import told_over_studies
from tiltyard.analysis.collected.tables import averages, cell, differing, index
from tiltyard.analysis.collected.verdicts import compare, pairs_over, pairs_over_tests
from tiltyard.analysis.dataset import Cells, Dataset, Point, cells_of
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
from tiltyard.analysis.verdict import Verdict
from tiltyard.collected.audited import Audited
from tiltyard.collected.model import CollectedWorkload, Collection
from tiltyard.plan.model import Design
from tiltyard.units import count_of


@dataclass(frozen=True)
class _Work:
    """A workload with what is compared of it."""

    workload: CollectedWorkload
    dataset: Dataset
    headline: list[Point]
    details: list[Point]
    whole: list[Point]
    """Those that measure the same."""
    tests: list[list[Point]]
    """The headline points, metric by metric."""

    @property
    def topic(self) -> str:
        """What its verdict is about."""
        return self.whole[0].topic if len(self.whole) == 1 else self.workload.display

    @property
    def by_metric(self) -> list[list[Point]]:
        """The points of each metric, where there are several."""
        return self.tests if len(self.tests) > 1 else []

    @property
    def grid(self) -> list[tuple[str, list[Point]]]:
        """Each point, and each metric over its points, with their topics, but for the whole."""
        points = [(point.topic, [point]) for point in self.headline]
        metrics = [(own[0].metric.label, own) for own in self.by_metric if len(own) > 1]
        whole = cells_of(self.whole)
        return [(topic, own) for topic, own in (*points, *metrics) if cells_of(own) != whole]


def analyse_collection(collection: Collection, audit: Sequence[Audited] = ()) -> Findings:
    """All findings about results that were collected elsewhere; pure.

    Args:
        collection: the results.
        audit: what came of holding its author's claims against it.
    """
    dataset = Dataset.of_collection(collection)
    works = [_work(*one, dataset) for one in enumerate(collection.workloads)]
    within = collection.equivalent_within
    design = Design(
        profile="collected",
        strict=False,
        looks=(),
        alpha=0.05,
        equivalent_within=within,
        false_discovery_rate=0.05,
    )
    judged, family, headlines = _judged(works, dataset, collection.baseline, design)
    workloads = with_observations(
        [_findings(work, judged, collection) for work in works],
        # Of several studies a session is what is replicated, not the value.
        {} if collection.origin.studies else observe_courses([_courses(w, within) for w in works]),
    )
    overall = _overall(works, dataset, collection.baseline, design)
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
        origin=collection.origin,
        kept=collection.kept,
        audit=tuple(audit),
        plugins=collection.plugins,
    )
    if collection.origin.studies:
        return told_over_studies(findings, pooled=collection.origin.pooled)
    return with_headline(findings)


def _courses(work: _Work, within: float) -> Collected:
    return Collected(
        work.workload.name, tuple(courses_of(work.dataset, work.tests)), math.log1p(within)
    )


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
    works: Sequence[_Work], dataset: Dataset, baseline: str, design: Design
) -> tuple[Comparison, ...]:
    """Every pair over the tests that are alike: a family by itself."""
    every = [own for work in works for own in work.tests]
    tests = alike(every, lambda own: own[0].metric)
    pairs = pairs_over_tests(dataset, tests, baseline)
    return tuple(compare(pairs, design, together=True))


def _judged(
    works: Sequence[_Work], dataset: Dataset, baseline: str, design: Design
) -> tuple[dict[Cells, list[Comparison]], int, int]:
    """Cells → every pair of systems over them; how many of the grid, and of whole workloads."""
    grid = [one for work in works for one in work.grid]
    wholes = [(work.topic, work.whole) for work in works if work.whole]
    found: dict[Cells, list[Comparison]] = {}
    sizes = []
    for own, together in ((grid, False), (wholes, True)):
        pairs = [pairs_over(dataset, *one, baseline) for one in own]
        every = [pair for of_cells in pairs for pair in of_cells]
        judged = iter(compare(every, design, together))
        for (_, points), of_cells in zip(own, pairs, strict=True):
            found[cells_of(points)] = list(islice(judged, len(of_cells)))
        sizes.append(len(every))
    family, headlines = sizes
    return found, family, headlines


def _work(number: int, workload: CollectedWorkload, dataset: Dataset) -> _Work:
    found = dataset.points_of.get(number, [])
    headline = [point for point in found if point.metric.headline]
    # What one system alone has is compared with nothing, and is no part of what all have.
    shared = [point for point in headline if len(point.readings) > 1] or headline
    return _Work(
        workload=workload,
        dataset=dataset,
        headline=headline,
        details=[point for point in found if not point.metric.headline],
        whole=alike(shared, lambda point: point.metric),
        tests=[list(own) for _, own in groupby(headline, key=lambda point: point.metric.name)],
    )


def _findings(
    work: _Work, judged: Mapping[Cells, list[Comparison]], collection: Collection
) -> WorkloadFindings:
    workload, baseline = work.workload, collection.baseline
    cells = tuple(cell(one, judged[cells_of([one])], baseline) for one in work.headline)
    by_metric = tuple(
        index(
            own[0].metric.name,
            own[0].metric.label,
            own,
            work.dataset.samples(cells_of(own)),
            judged[cells_of(own)],
            baseline,
            together=False,
        )
        for own in work.by_metric
    )
    overall = judged.get(cells_of(work.whole), [])
    whole = _index(work, overall, collection.baseline)
    counts = Counter(found.verdict for one in cells for found in one.comparisons)
    tally: dict[Verdict, int] = {verdict: counts[verdict] for verdict in get_args(Verdict)}
    systems = [system.name for system in collection.systems]
    times = bool(work.headline) and all(p.metric.name == "latency" for p in work.headline)
    means = averages(work.headline, systems) if times else ()
    return WorkloadFindings(
        name=workload.name,
        title=workload.title,
        use=workload.use,
        about=workload.about,
        lineage=workload.lineage,
        timing="",
        effective=dict(workload.parameters),
        grid=workload.grid,
        answer=answer(whole, work.headline, work.details),
        index=whole,
        by_metric=by_metric,
        cells=cells,
        latencies=None,
        details=tuple(cell(point, (), "") for point in work.details),
        ends={},
        losses=_losses(whole, cells),
        tally=tally,
        averages=means,
        commands=workload.commands,
        differing=differing(workload, whole, means),
    )


def _index(work: _Work, comparisons: Sequence[Comparison], baseline: str) -> Index:
    """Over everything that is compared of a workload; empty where nothing was read."""
    label = work.workload.display
    if len({point.metric.name for point in work.whole}) == 1:
        label = work.whole[0].metric.label
    if work.headline:
        own = work.whole
        name, samples = work.workload.name, work.dataset.samples(cells_of(own))
        return index(name, label, own, samples, comparisons, baseline, together=True)
    return Index(
        name=work.workload.name,
        label=label,
        unit="",
        shown_in="",
        direction="higher",
        cells=0,
        standings=(),
        comparisons=(),
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
