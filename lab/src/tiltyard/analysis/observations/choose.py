"""From all tests of a report to the sentences that are printed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.analysis.model import Observation
from tiltyard.analysis.observations.claim import ALPHA, Claim, Key, Kind, Result, Scene
from tiltyard.analysis.observations.telling import listed
from tiltyard.stats.multiple import benjamini_hochberg, false_coverage_alpha

FALSE_DISCOVERY_RATE: Final = 0.05
"""Of the sentences of a report; where nothing is to be found, the chance of any sentence."""
MOST: Final = 8
"""Sentences about one workload."""
NAMED: Final = 5
"""Other places of the same subject that are named; more are counted."""


@dataclass(frozen=True)
class Made:
    """One test that was made, with what kind and where."""

    kind: Kind
    workload: str
    result: Result
    p_adjusted: float = 1.0


def make(kinds: Sequence[Kind], scene: Scene) -> list[Made]:
    """All tests in one workload, kind by kind."""
    return [Made(kind, scene.name, test) for kind in kinds for test in kind.look(scene)]


def accept(made: Sequence[Made]) -> list[tuple[Made, Claim]]:
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


def _as_selected(held: list[tuple[Made, Claim]], tests: int) -> list[tuple[Made, Claim]]:
    """The claims with intervals that are corrected for having been selected, where they can be.

    Source: :func:`tiltyard.stats.multiple.false_coverage_alpha`.
    """
    while True:
        count = sum(one.kind.correction == "family" for one, _ in held)
        if not count:
            return held
        alpha = false_coverage_alpha(count, tests, FALSE_DISCOVERY_RATE)
        told = [(one, claim.at(alpha) if claim.at else claim) for one, claim in held]
        kept = [(one, claim) for one, claim in told if claim is not None]
        if len(kept) == len(held):
            return kept
        held = [pair for pair, (_, claim) in zip(held, told, strict=True) if claim is not None]


def tell(accepted: Iterable[tuple[Made, Claim]]) -> dict[str, tuple[Observation, ...]]:
    """Workload → its observations, the largest first.

    What an earlier kind has told, no later one tells again, and claims on one subject are one
    sentence. Of more than eight, the largest of each kind go first, so that one kind of large
    effects does not fill the table.
    """
    covered: set[tuple[str, Key]] = set()
    subjects: dict[str, dict[Key, list[tuple[Made, Claim]]]] = defaultdict(dict)
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
    """At most eight, the largest first."""
    turns: dict[str, int] = defaultdict(int)
    rounds = []
    for one in sorted(found, key=lambda one: -one.size):
        rounds.append((turns[one.kind], -one.size, one))
        turns[one.kind] += 1
    chosen = sorted(rounds, key=lambda turn: turn[:2])[:MOST]
    return tuple(one for _, _, one in sorted(chosen, key=lambda turn: turn[1]))


def _observation(group: Sequence[tuple[Made, Claim]]) -> Observation:
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


def _p_adjusted(made: Made, claim: Claim) -> float:
    return made.p_adjusted if claim.p_adjusted is None else claim.p_adjusted


def _also(places: Sequence[str]) -> str:
    """``; also xfs (2.0×) and btrfs (1.9×)``; empty where there is no other place."""
    named = list(dict.fromkeys(filter(None, places)))
    if not named:
        return ""
    if len(named) > NAMED:
        return f"; also in {len(named)} other cases"
    return f"; also {listed(named)}"
