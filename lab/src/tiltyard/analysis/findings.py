"""From a plan and the record of its run to everything that can be stated.

Rules that hold for the whole study:

* The unit is the block. A comparison takes the blocks in which both systems have a value, and its
  interval rests on the first ones up to the largest look; further blocks wait for the next look.
  Where none is to come, the last look takes what is there.
* Cells and the means over a metric's grid are one family, corrected by Benjamini–Hochberg at the
  rate of the study; the indices of the workloads are the other one, corrected by Holm. The only
  cell of a workload is its index, and is judged once. The geometric mean over all tests is a
  family by itself (Holm).
* The CPU times of programs are a family by themselves (Holm). The study goes on, or stops, without
  regard to them: the wall-clock time is what it is about.
* A comparison stops by itself: once decided it keeps its verdict, interval and p-value, also
  where its trials go on because they yield other cells that are open. Intervals of cells that
  differ are corrected for having been selected; those of the indices hold together.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tiltyard import __version__
from tiltyard.analysis.alike import alike
from tiltyard.analysis.contrast import Contrasts, Judged, NoVerdict
from tiltyard.analysis.disturbed import disturbed_blocks, suppress_verdicts, too_many_disturbed
from tiltyard.analysis.effects import with_effects
from tiltyard.analysis.judging import judge
from tiltyard.analysis.model import FORMAT, Comparison, Findings, WorkloadFindings
from tiltyard.analysis.order import drifts, trial_lines
from tiltyard.analysis.other_analysis import side_by_side
from tiltyard.analysis.quantity import Measured, Quantity, collect, mean_of
from tiltyard.analysis.statements import foreign
from tiltyard.analysis.statements.conditions import (
    conditions_sentence,
    design_sentence,
    noise_limits_sentence,
)
from tiltyard.analysis.statements.disturbances import under_load
from tiltyard.analysis.statements.evidence import Evidence
from tiltyard.analysis.statements.family import BENJAMINI_HOCHBERG, HOLM, Family
from tiltyard.analysis.statements.headline import with_headline
from tiltyard.analysis.statements.registry import notices, observe, with_observations
from tiltyard.analysis.systems import (
    advantages,
    asked_factor,
    record_under_test,
    system_findings,
)
from tiltyard.analysis.tables import ComparisonBuilder
from tiltyard.analysis.workload import (
    JudgedWorkload,
    Quantities,
    by_metric,
    quantities_of,
    unmeasured,
    workload_findings,
)
from tiltyard.plan.model import Plan
from tiltyard.run.differences import differences
from tiltyard.run.progress import PlanProgress, blocks_to_come, progress_of, without_replaced_blocks
from tiltyard.run.record import RunRecord
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.planning import FOUND_HALF_WIDTHS
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of

HEADLINE_LEVEL: Final = 0.05
"""Chance of any false claim among the indices of the workloads."""


def analyse(plan: Plan, run: RunRecord, others: int = 0) -> Findings:
    """All findings of a study so far; pure, and the same for the same record.

    Blocks that were replaced are shown trial by trial, and count for nothing else. With these
    headlines so many ``others``, of other studies, are corrected.
    """
    course = progress_of(plan, run)
    everything, run = run, without_replaced_blocks(run, course)
    measured = [collect(plan, run, workload) for workload in plan.workloads]
    to_come = blocks_to_come(everything, course)
    quantities = [q for m in measured if (q := quantities_of(m))]
    judged = _judge_all(plan, quantities, to_come, others)
    withheld = too_many_disturbed(everything, course)
    judged = suppress_verdicts(judged, withheld) if withheld else judged
    headlines = others + sum(len(workload.index.contrasts) for workload in judged)
    family = sum(len(judgement.contrasts) for workload in judged for judgement in workload.family)
    workloads = _describe(plan, run, measured, judged, headlines, family, withheld)
    if not withheld:
        workloads = with_effects(workloads, plan, judged, to_come)
        workloads = with_observations(workloads, observe(measured, run, plan, judged))
    lines = trial_lines(everything, _all_measured(plan, everything, run, measured))
    systems, blocks_done = system_findings(plan, run), len(course.counted)
    levels = {one.name: one.levels for one in systems}
    asked = plan.asks or asked_factor(plan.question, levels)
    evidence = Evidence(plan, run, judged, workloads, withheld)
    look = int(evidence.contrasts.columns["blocks"].max(initial=0))
    findings = Findings(
        format=FORMAT,
        tiltyard=__version__,
        engine=plan.engine,
        plan_hash=plan.hash,
        seal=run.seal,
        seed=plan.seed,
        question=plan.question,
        decide=plan.decide,
        answer=f"No verdict: {withheld.reason}." if withheld else "",
        systems=systems,
        baseline=plan.baseline,
        differences=differences({one.name: one.facts for one in systems}, plan.systems, run.host),
        advantages=advantages(levels, plan.baseline, asked),
        design=plan.design,
        design_sentence=design_sentence(
            plan, family, headlines, HEADLINE_LEVEL, *_other_families(workloads)
        ),
        blocks_done=blocks_done,
        blocks_planned=len(plan.blocks),
        look=look,
        unit=plan.design.unit,
        family=family,
        **_trial_counts(everything, course, look),
        resolution_percent=_resolution_percent(judged),
        stopped=run.stopped,
        conditions_sentence=conditions_sentence(plan, run, lines),
        noise_limits_sentence=noise_limits_sentence(plan, run),
        workloads=workloads,
        overall=() if withheld else _overall(plan, quantities, to_come),
        trials=lines,
        drifts=tuple(drifts(lines, {w.spec.name: w.display for w in plan.workloads})),
        notices=tuple(notices(evidence)),
        under_load=under_load(run) if plan.clock == "time" else "",
        disturbed=disturbed_blocks(everything, course, lambda record: _headlines(plan, record)),
        calibration=run.calibration if plan.clock == "time" else None,
        where=plan.where,
        host=run.host,
        clock=plan.clock,
        other_hosts=run.other_hosts,
        record=record_under_test(run.record, systems),
        complete=_is_complete(plan, blocks_done, course.to_come, evidence.contrasts),
        plugins={**plan.plugins, **foreign.used()},
    )
    return findings if withheld else with_headline(findings)


def _other_families(workloads: Sequence[WorkloadFindings]) -> tuple[int, int]:
    """How many effects of factors, and how many comparisons of CPU time, there are."""
    cpu_times = (own.cpu_time.comparisons for own in workloads if own.cpu_time)
    return sum(len(own.effects) for own in workloads), sum(map(len, cpu_times))


def _trial_counts(run: RunRecord, course: PlanProgress, look: int) -> dict[str, int]:
    """How many trials there are, and of how many no verdict is made."""
    done = [trial.key.block for trial in run.trials if trial.outcome == "done"]
    later = _blocks_after(look, course)
    return {
        "trials_kept": len(done),
        "trials_failed": sum(trial.outcome == "failed" for trial in run.trials),
        "trials_alternated": sum(trial.alternated for trial in run.trials),
        "trials_replaced": sum(block in course.replaced for block in done),
        "trials_later": sum(block in later for block in done),
    }


def _blocks_after(look: int, course: PlanProgress) -> Collection[int]:
    """What no verdict rests on yet: blocks after a look, complete or not; none before the first.

    None either where sessions are judged: all blocks of a session are in its means.
    """
    if not look or course.plan.design.unit != "block":
        return ()
    begun = {key.block for key in course.ended} - course.replaced
    return begun - set(course.counted[:look])


def _is_complete(plan: Plan, blocks_done: int, to_come: int, contrasts: Contrasts) -> bool:
    """Whether no further block could decide anything.

    After the last look only spares come, for what lacks blocks because trials failed.
    """
    last = plan.design.looks[-1].blocks
    if not contrasts:
        return blocks_done >= last
    lacking = contrasts.is_open & (contrasts.made < last)
    return not lacking.any() or to_come == 0


def _judge_all(
    plan: Plan, quantities: Sequence[Quantities], to_come: int, others: int
) -> list[JudgedWorkload]:
    """Verdicts on everything that is compared, each family corrected as a whole."""
    indices = _judge_indices(plan, quantities, to_come, others)
    grid = [(own, q.measured.covariates) for q in quantities for own in q.family]
    cpu_times = [(q.cpu_time, q.measured.covariates) for q in quantities if q.cpu_time]
    families = (
        indices,
        _judged(plan, grid, to_come, together=False),
        # Of other studies there are as many.
        _judged(plan, cpu_times, to_come, others),
    )
    found = {judged.quantity: judged for family in families for judged in family}
    return [q.map(found.__getitem__) for q in quantities]


def _judge_indices(
    plan: Plan, quantities: Sequence[Quantities], to_come: int, others: int = 0
) -> tuple[Judged, ...]:
    """Verdicts on the workloads as wholes, with those of the other analysis beside them."""
    design = plan.design
    systems = [system.name for system in plan.systems]
    indices = [q.index for q in quantities]
    covariates = [q.measured.covariates for q in quantities]
    asked = (indices, systems, design, holm, HEADLINE_LEVEL, True, to_come)
    judged = judge(*asked, others=others, baseline=plan.baseline)
    if any(np.isfinite(own).any() for own in covariates):
        adjusted = judge(*asked, covariates, others, plan.baseline)
        both = (judged, adjusted) if design.verdict == "unadjusted" else (adjusted, judged)
        judged = tuple(map(side_by_side, *both))
    return judged


def _judged(
    plan: Plan,
    own: Sequence[tuple[Quantity, FloatArray]],
    to_come: int,
    others: int = 0,
    *,
    together: bool = True,
) -> tuple[Judged, ...]:
    """Verdicts on quantities, each with its covariates, that are a family by themselves."""
    design = plan.design
    return judge(
        [quantity for quantity, _ in own],
        [system.name for system in plan.systems],
        design,
        holm if together else benjamini_hochberg,
        HEADLINE_LEVEL if together else design.false_discovery_rate,
        together,
        to_come,
        [covariates for _, covariates in own] if design.verdict == "adjusted" else (),
        others,
        plan.baseline,
    )


def _headlines(plan: Plan, run: RunRecord) -> dict[str, Judged]:
    """The same of any record, by workload."""
    measured = (collect(plan, run, workload) for workload in plan.workloads)
    quantities = [q for m in measured if (q := quantities_of(m))]
    names = (q.measured.workload.spec.name for q in quantities)
    judged = _judge_indices(plan, quantities, blocks_to_come(run, progress_of(plan, run)))
    return dict(zip(names, judged, strict=True))


def _describe(
    plan: Plan,
    run: RunRecord,
    measured: Sequence[Measured],
    judged: Sequence[JudgedWorkload],
    headlines: int,
    family: int,
    withheld: NoVerdict | None,
) -> tuple[WorkloadFindings, ...]:
    """The findings of each workload, in the order of the plan."""
    by_name = {own.measured.workload.spec.name: own for own in judged}
    indices = Contrasts.together(own.index.contrasts for own in judged)
    grid = Contrasts.together(part.contrasts for own in judged for part in own.family)
    cpu_times = Contrasts.together(own.cpu_time.contrasts for own in judged if own.cpu_time)
    builders = tuple(
        ComparisonBuilder(plan.design, Family.of(contrasts, correction, size))
        for contrasts, correction, size in (
            (indices, HOLM, headlines),
            (grid, BENJAMINI_HOCHBERG, family),
            (cpu_times, HOLM, len(cpu_times) + headlines - len(indices)),
        )
    )
    return tuple(
        workload_findings(by_name[m.workload.spec.name], plan, run, *builders)
        if m.workload.spec.name in by_name
        else unmeasured(m, withheld)
        for m in measured
    )


def _all_measured(
    plan: Plan, everything: RunRecord, run: RunRecord, measured: list[Measured]
) -> list[Measured]:
    """What was measured, replaced blocks included."""
    if everything is run:
        return measured
    return [collect(plan, everything, workload) for workload in plan.workloads]


def _resolution_percent(judged: Sequence[JudgedWorkload]) -> float | None:
    """The smallest difference in a headline cell that 80 % of such studies find, in percent."""
    cells = Contrasts.together(cell.contrasts for own in judged for cell in own.cells)
    seen = cells.columns[cells.has_interval]
    widths = (seen["high"] - seen["low"]) / 2
    if not len(widths):
        return None
    return 100 * math.expm1(FOUND_HALF_WIDTHS * float(np.median(widths)))


def _overall(plan: Plan, quantities: Sequence[Quantities], to_come: int) -> tuple[Comparison, ...]:
    """Every pair of systems over the tests that are alike; of one test none.

    A test is a metric of a workload, however many cells it has; times are turned into speeds. A
    block yields one number, so that whatever tests share within it is contained and needs no
    assumption.
    """
    every = [cells for q in quantities for cells in by_metric(q.measured.cells)]
    tests = [mean_of("", cells) for cells in alike(every, lambda cells: cells[0].metric)]
    if len(tests) < 2:
        return ()
    speeds = [
        own
        if own.direction == "higher"
        else replace(own, direction="higher", log_values=-own.log_values)
        for own in tests
    ]
    whole = mean_of(f"the geometric mean of {count_of(len(tests), 'test')}", speeds)
    covariates = np.mean([q.measured.covariates for q in quantities], axis=0)
    (judged,) = _judged(plan, [(replace(whole, unit=""), covariates)], to_come)
    family = Family.of(judged.contrasts, HOLM)
    return ComparisonBuilder(plan.design, family).comparisons(judged)
