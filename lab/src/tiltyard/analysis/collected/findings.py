"""From a collection to findings, in the same form as those of a study that was run here.

The cells of all workloads are one family (Benjamini–Hochberg), the workloads' means the other
(Holm), as in a study of ours; but nothing here was randomised, and what the source did not keep
stands beside every verdict.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

from tiltyard import __version__
from tiltyard.analysis.alike import alike
from tiltyard.analysis.collected.answer import answer
from tiltyard.analysis.collected.courses import Collected, courses_of, observe_courses
from tiltyard.analysis.collected.limits import limits
from tiltyard.analysis.collected.over import told_over_studies
from tiltyard.analysis.collected.verdicts import Pair, compare
from tiltyard.analysis.collected.workload import (
    Point,
    averages,
    cell,
    differing,
    index,
    pairs_over,
    pairs_over_tests,
    points,
)
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
    """A workload with its points and everything that is compared of it."""

    workload: CollectedWorkload
    headline: list[Point]
    details: list[Point]
    whole: list[Point]
    """Those that measure the same."""
    cells: list[list[Pair]]
    """Of each headline point; none of one that is the whole, whose pairs are those of it."""
    tests: list[list[Point]]
    """The headline points, metric by metric."""
    metrics: list[tuple[list[Point], list[Pair]]]
    """For each headline metric its points, and the pairs over them: none for a metric of one
    point, whose pairs are those of the point, and for the whole. Empty for one metric."""
    over_all: list[Pair]


def analyse_collection(collection: Collection, audit: Sequence[Audited] = ()) -> Findings:
    """All findings about results that were collected elsewhere; pure.

    Args:
        collection: the results.
        audit: what came of holding its author's claims against it.
    """
    names = [system.name for system in collection.systems]
    works = [_work(workload, names, collection.baseline) for workload in collection.workloads]
    within = collection.equivalent_within
    grid = [
        pair for w in works for own in (*w.cells, *(over for _, over in w.metrics)) for pair in own
    ]
    headlines = [pair for w in works for pair in w.over_all]
    told = iter(compare(grid, within, together=False))
    wholes = iter(compare(headlines, within, together=True))
    workloads = with_observations(
        [_findings(w, told, wholes, collection) for w in works],
        # Of several studies a session is what is replicated, not the value.
        {} if collection.origin.studies else observe_courses([_courses(w, within) for w in works]),
    )
    overall, levels = _overall(works, collection), {o.name: o.levels for o in collection.systems}
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
        design=Design(
            profile="collected",
            strict=False,
            looks=(),
            alpha=0.05,
            equivalent_within=within,
            false_discovery_rate=0.05,
        ),
        design_sentence=_design_sentence(within, len(grid), len(headlines)),
        blocks_done=0,
        blocks_planned=0,
        look=0,
        family=len(grid),
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
    return Collected(work.workload.name, tuple(courses_of(work.tests)), math.log1p(within))


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


def _overall(works: Sequence[_Work], collection: Collection) -> tuple[Comparison, ...]:
    """Every pair over the tests that are alike: a family by itself."""
    every = [own for work in works for own in work.tests]
    tests = alike(every, lambda own: own[0].metric)
    pairs = pairs_over_tests(tests, collection.baseline)
    return tuple(compare(pairs, collection.equivalent_within, together=True))


def _work(workload: CollectedWorkload, systems: Sequence[str], baseline: str) -> _Work:
    found = points(workload, systems)
    headline = [point for point in found if point.metric.headline]
    groups = [list(own) for _, own in groupby(headline, key=lambda point: point.metric.name)]
    # What one system alone has is compared with nothing, and is no part of what all have.
    shared = [point for point in headline if len(point.readings) > 1] or headline
    whole = alike(shared, lambda point: point.metric)
    topic = whole[0].topic if len(whole) == 1 else workload.display
    metrics = [
        (
            own,
            []
            if len(own) == 1 or _are_same(own, whole)
            else pairs_over(own[0].metric.label, own, baseline),
        )
        for own in groups
        if len(groups) > 1
    ]
    return _Work(
        workload=workload,
        headline=headline,
        whole=whole,
        details=[point for point in found if not point.metric.headline],
        cells=[
            [] if _are_same([point], whole) else pairs_over(point.topic, [point], baseline)
            for point in headline
        ],
        tests=groups,
        metrics=metrics,
        over_all=pairs_over(topic, whole, baseline) if whole else [],
    )


def _are_same(own: Sequence[Point], whole: Sequence[Point]) -> bool:
    return list(map(id, own)) == list(map(id, whole))


def _findings(
    work: _Work,
    told: Iterator[Comparison],
    wholes: Iterator[Comparison],
    collection: Collection,
) -> WorkloadFindings:
    workload = work.workload
    overall = [next(wholes) for _ in work.over_all]
    at_points = [
        overall if _are_same([point], work.whole) else [next(told) for _ in own]
        for point, own in zip(work.headline, work.cells, strict=True)
    ]
    cells = tuple(
        cell(point, own, collection.baseline)
        for point, own in zip(work.headline, at_points, strict=False)
    )
    by_point = dict(zip(map(id, work.headline), at_points, strict=False))
    by_metric = tuple(
        index(
            own[0].metric.name,
            own[0].metric.label,
            own,
            by_point[id(own[0])]
            if len(own) == 1
            else overall
            if _are_same(own, work.whole)
            else [next(told) for _ in over],
            collection.baseline,
            together=False,
        )
        for own, over in work.metrics
    )
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
        return index(work.workload.name, label, work.whole, comparisons, baseline, together=True)
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
