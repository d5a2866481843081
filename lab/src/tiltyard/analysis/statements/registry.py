"""The registry of statements, and what reports take from it.

Each further finding is a registered test with a smallest number of blocks. All tests of a report
are one family, corrected by Benjamini–Hochberg at 5 %; where no effect exists, that is also the
chance that a report prints any of them. Two sorts are outside of this family: findings of sameness
need no correction (every one of their tests must reject) but are printed only beside a change along
the same axis, and findings made of verdicts rest on the correction of the verdicts.

Two sentences are left out because a study lacks the data: how near a value is to the bound of the
hardware (needs a measured bound), and whether a variance is unusual (needs earlier studies).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tiltyard.analysis.model import Findings, Notice, Observation, WorkloadFindings
from tiltyard.analysis.quantity import Measured
from tiltyard.analysis.statements import (
    along_axis,
    cpu_times,
    distributions,
    disturbances,
    foreign,
    headline,
    over_cells,
    over_time,
    verdicts,
    warnings,
)
from tiltyard.analysis.statements import (
    claims as style_claims,
)
from tiltyard.analysis.statements import (
    notices as limitations,
)
from tiltyard.analysis.statements import (
    rules as reporting,
)
from tiltyard.analysis.statements.along_axis import Along
from tiltyard.analysis.statements.claims import Claim
from tiltyard.analysis.statements.evidence import ALPHA, Candidate, Evidence, Key, Result, Scene
from tiltyard.analysis.statements.rules import Rule
from tiltyard.analysis.statements.statement import Shown, Statement
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.stats.multiple import benjamini_hochberg, false_coverage_alpha
from tiltyard.units import listed

STATEMENTS: Final[tuple[Statement[Any, Any], ...]] = (
    *warnings.WARNINGS,
    *headline.HEADLINES,
    cpu_times.APART,
    *verdicts.COMPARISONS,
    *limitations.OF_THE_STUDY,
    *disturbances.OF_THE_TRIALS,
    *limitations.OF_THE_EVIDENCE,
    over_cells.LOSSES,
    over_cells.LEAVE_ONE_OUT,
    over_cells.CROSSOVER,
    along_axis.CLIFF,
    *along_axis.SHAPES,
    distributions.BIMODAL,
    distributions.CONSISTENCY,
    distributions.TAIL,
    over_time.STEP,
    over_time.DRIFT,
    over_time.AUTOCORRELATION,
    over_time.OUTLIER,
    *style_claims.CLAIMS,
    *reporting.RULES,
)
"""All statements. Within each place they are printed in this order; of further findings the most
specific come first, and what one of them has said of a series, later ones do not repeat."""

FALSE_DISCOVERY_RATE: Final = 0.05
"""Of the sentences of a report; where nothing is to be found, the chance of any sentence."""
MOST: Final = 16
"""Sentences about one workload."""
NAMED: Final = 5
"""Other places of the same subject that are named; more are counted."""


def shown_as(shown: Shown) -> tuple[Statement[Any, Any], ...]:
    """The statements of one place, in order."""
    return tuple(one for one in STATEMENTS if one.shown == shown)


def notices(evidence: Evidence) -> Iterator[Notice]:
    """Limitations and warnings: the trials first, then the evidence, then the scope."""
    for statement in shown_as("notice"):
        yield from statement.make(evidence)
    yield from foreign.notices(evidence)


def claims(findings: Findings, *kinds: str) -> list[Claim]:
    """The claims of some kinds; of all where none is named."""
    known = {statement.name: statement for statement in shown_as("claim")}
    return [claim for kind in kinds or known for claim in known[kind].make(findings)]


def rules(findings: Findings) -> tuple[Rule, ...]:
    """The twelve rules of reporting, in the order of their authors."""
    return tuple(
        Rule(number=number, rule=rule.says, outcome=outcome, sentence=sentence)
        for number, rule in enumerate(shown_as("rule"), 1)
        for outcome, sentence in [rule.make(findings)]
    )


def observe(
    measured: Sequence[Measured],
    run: RunRecord,
    plan: Plan,
    judged: Sequence[JudgedWorkload],
) -> dict[str, tuple[Observation, ...]]:
    """Workload → its further findings, at most sixteen, the largest first.

    Args:
        measured: the values of every workload.
        run: slots, telemetry and device counters of the trials; facts of the host.
        plan: the rules of the study.
        judged: the same workloads with verdicts, where any value exists.
    """
    by_name = {workload.measured.workload.spec.name: workload for workload in judged}
    scenes = [Scene(own, by_name.get(own.workload.spec.name), plan, run) for own in measured]
    made = [test for scene in scenes for test in make(shown_as("further finding"), scene)]
    found = select(accept(made))
    for own in foreign.families(scenes):
        with own.contained():
            tests = [Made(*test) for test in own.tests()]
            for workload, observations in select(accept(tests)).items():
                found[workload] = (*found.get(workload, ()), *observations)
    return found


def with_observations(
    workloads: Sequence[WorkloadFindings], observed: Mapping[str, tuple[Observation, ...]]
) -> tuple[WorkloadFindings, ...]:
    """The workloads with what was observed of each."""
    return tuple(
        workload.model_copy(update={"observations": observed.get(workload.name, ())})
        for workload in workloads
    )


@dataclass(frozen=True)
class Made:
    """One test that was made, with what kind and where."""

    kind: Statement[Any, Iterable[Result]]
    workload: str
    result: Result
    p_adjusted: float = 1.0


def make(kinds: Sequence[Statement[Any, Any]], scene: Along) -> list[Made]:
    """All tests in one workload, kind by kind."""
    return [Made(kind, scene.name, test) for kind in kinds for test in kind.make(scene)]


def accept(made: Sequence[Made]) -> list[tuple[Made, Candidate]]:
    """The claims that hold, corrected over the tests of all workloads together.

    A claim that needs grounds holds only if another one in its workload gives them.
    """
    family = [one for one in made if one.kind.correction == "family"]
    p_values = np.array([one.result.p for one in family], dtype=np.float64)
    adjusted = dict(zip(map(id, family), benjamini_hochberg(p_values).tolist(), strict=True))
    held = []
    for one in made:
        claim = one.result.claim
        if claim is None:
            continue
        if one.kind.correction == "family":
            p_adjusted = adjusted[id(one)]
            if one.result.p >= ALPHA or p_adjusted > FALSE_DISCOVERY_RATE:
                continue
            one = Made(one.kind, one.workload, one.result, p_adjusted)
        held.append((one, claim))
    held = _as_selected(held, len(family))
    grounds = {(one.workload, claim.grounds) for one, claim in held if claim.grounds}
    return [
        (one, claim)
        for one, claim in held
        if claim.needs is None or (one.workload, claim.needs) in grounds
    ]


def _as_selected(held: list[tuple[Made, Candidate]], tests: int) -> list[tuple[Made, Candidate]]:
    """The claims with intervals that are corrected for having been selected, where they can be.

    Source: :func:`tiltyard.stats.multiple.false_coverage_alpha`.
    """
    while True:
        count = sum(one.kind.correction == "family" for one, _ in held)
        if not count:
            return held
        alpha = false_coverage_alpha(count, tests, FALSE_DISCOVERY_RATE)
        corrected = [(one, claim.at(alpha) if claim.at else claim) for one, claim in held]
        kept = [(one, claim) for one, claim in corrected if claim is not None]
        if len(kept) == len(held):
            return kept
        held = [pair for pair, (_, claim) in zip(held, corrected, strict=True) if claim is not None]


def select(accepted: Iterable[tuple[Made, Candidate]]) -> dict[str, tuple[Observation, ...]]:
    """Workload → its observations, the largest first.

    What an earlier kind has reported, no later one repeats, and claims on one subject are one
    sentence. Of more than sixteen, the largest of each kind go first, so that one kind of large
    effects does not fill the table.
    """
    covered: set[tuple[str, Key]] = set()
    subjects: dict[str, dict[Key, list[tuple[Made, Candidate]]]] = defaultdict(dict)
    for one, claim in accepted:
        if claim.covers and (one.workload, claim.covers[0]) in covered:
            continue
        covered.update((one.workload, key) for key in claim.covers)
        subject = (one.kind.name, *claim.subject)
        subjects[one.workload].setdefault(subject, []).append((one, claim))
    return {
        workload: _ranked([_observation(group) for group in groups.values()])
        for workload, groups in subjects.items()
    }


def _ranked(found: Sequence[Observation]) -> tuple[Observation, ...]:
    """At most sixteen, the largest first."""
    turns: dict[str, int] = defaultdict(int)
    rounds = []
    for one in sorted(found, key=lambda one: -one.size):
        rounds.append((turns[one.kind], -one.size, one))
        turns[one.kind] += 1
    chosen = sorted(rounds, key=lambda turn: turn[:2])[:MOST]
    return tuple(one for _, _, one in sorted(chosen, key=lambda turn: turn[1]))


def _observation(group: Sequence[tuple[Made, Candidate]]) -> Observation:
    """One sentence for all claims on one subject: the largest, then where else."""
    ordered = sorted(group, key=lambda pair: -pair[1].size)
    (made, claim), others = ordered[0], ordered[1:]
    systems = dict.fromkeys(system for _, own in ordered for system in own.systems)
    same = made.kind.correction == "sameness"
    return Observation(
        kind=made.kind.name,
        workload=made.workload,
        metric=claim.metric,
        systems=tuple(systems),
        blocks=claim.blocks,
        size=claim.size,
        p=None if same else made.result.p,
        p_adjusted=None if same else _p_adjusted(made, claim),
        sentence=f"{claim.sentence}{_also([own.place for _, own in others])}.",
        evidence="; ".join((claim.evidence, *(f"{o.place}: {o.sentence}" for _, o in others))),
    )


def _p_adjusted(made: Made, claim: Candidate) -> float:
    return made.p_adjusted if claim.p_adjusted is None else claim.p_adjusted


def _also(places: Sequence[str]) -> str:
    """``; also xfs (2.0×) and btrfs (1.9×)``; empty where there is no other place."""
    named = list(dict.fromkeys(filter(None, places)))
    if not named:
        return ""
    if len(named) > NAMED:
        return f"; also in {len(named)} other cases"
    return f"; also {listed(named)}"
