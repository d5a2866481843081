"""What several studies say: of systems compared in each of them, or of two of them.

The level above the block is the study, or the session of a study. Pooled, systems are compared
within the blocks of each study, and these comparisons are one by random effects. Study against
study nothing is paired, and what a session adds to all of its blocks cannot be told from a
difference: so the session is what is replicated, judged by exact ranks of sessions' means.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.analysis.collected.evidence import (
    FEWEST_VALUES,
    LEVEL,
    Evidence,
    Location,
    Replicates,
    unpaired,
)
from tiltyard.analysis.collected.verdicts import ratio_of
from tiltyard.analysis.decision import headlines
from tiltyard.analysis.judging import FARTHEST
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.statements.numbers import compatible, p_number, scale_of_doubt
from tiltyard.analysis.verdict import InStudy, OverStudies
from tiltyard.stats.permutation import permutation_p
from tiltyard.stats.random_effects import RandomEffects, unmet
from tiltyard.stats.rank_sum import RankSum, fewest
from tiltyard.stats.student import critical_t
from tiltyard.stats.types import FloatArray
from tiltyard.units import agreeing, count_of, format_number, listed, part_of

_OPEN: Final = ("undecided", "invalid")
_FOLLOWS: Final = 0.10
TOLD: Final = 3
"""As many comparisons are told in the answer; more are counted."""


def over_studies(first: Location, second: Location) -> Evidence:
    """What studies say of two systems: by the blocks that both share, else by sessions."""
    own, other = first.replicates, second.replicates
    if own is None or other is None:
        return Evidence(first.mean - second.mean, min(first.n, second.n))
    shared = sorted({*own.blocks} & {*other.blocks})
    if not shared:
        return _between(first, second, _by_group(own), _by_group(other))
    ours, theirs = (np.searchsorted(one.blocks, shared) for one in (own, other))
    names = tuple(own.groups[place] for place in ours)
    logs = own.logs[ours] - other.logs[theirs]
    found = _by_group(Replicates(logs, own.rounding[ours], (), names))
    usable = {name: logs for name, logs in found.items() if len(logs) >= FEWEST_VALUES}
    return _pooled(usable) if usable else Pooled(float(logs.mean()), 0)


@dataclass(frozen=True)
class Pooled(Evidence):
    """A comparison within each of several studies, as one by random effects."""

    effects: RandomEffects | None = None
    """``None`` for fewer than two studies."""
    values: tuple[InStudy, ...] = ()

    @property
    def basis(self) -> str:
        """See :attr:`Evidence.basis`."""
        return count_of(self.n, "study")

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`; none surer than how often few studies are of one kind."""
        if self.effects is None or self.effects.chance > alpha:
            return None
        return _clipped(*self.effects.interval(alpha))

    def lacks(self, level: float) -> str:
        """See :meth:`Evidence.lacks`."""
        needed = 1 + math.ceil(-math.log2(1 - level))
        return f"a verdict over studies takes {needed} of them, and these are {self.n}"

    def over(self, level: float) -> OverStudies | None:
        """See :meth:`Evidence.over`."""
        found = self.effects
        if found is None:
            return None
        low, high = map(ratio_of, found.interval(LEVEL))
        predicted = found.prediction(LEVEL)
        ends = map(ratio_of, predicted) if predicted else (None, None)
        predicted_low, predicted_high = ends
        tau_low, tau_high = map(math.sqrt, found.spread_interval)
        told = OverStudies(
            values=self.values,
            blocks=tuple(one.blocks for one in self.values),
            ratio=ratio_of(self.estimate),
            low=low,
            high=high,
            tau=math.sqrt(found.spread),
            tau_low=tau_low,
            tau_high=tau_high,
            i2=found.inconsistency,
            p_same=found.p_same,
            predicted_low=predicted_low,
            predicted_high=predicted_high,
            lacks="" if self.interval(1 - level) else self.lacks(level),
            apart=tuple(one.study for one in self.values if _is_apart(one, self.estimate)),
            sentence="",
        )
        return told.model_copy(update={"sentence": " ".join(_spread(told))})


@dataclass(frozen=True)
class Between(Evidence):
    """One study against another: means of their sessions by exact ranks."""

    ranks: RankSum | None = None
    within: Evidence | None = None
    """Of the blocks, as if sessions added nothing."""
    blocks: tuple[int, ...] = ()
    followed: bool = False
    """Whether sessions of a study that follow each other resemble each other."""

    @property
    def basis(self) -> str:
        """See :attr:`Evidence.basis`."""
        return f"{listed(list(map(str, self._sessions)))} sessions"

    @property
    def _sessions(self) -> tuple[int, ...]:
        return (len(self.ranks.first), len(self.ranks.second)) if self.ranks else ()

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`."""
        found = None if self.followed else self.ranks and self.ranks.interval(alpha)
        return _clipped(*found) if found else None

    def lacks(self, level: float) -> str:
        """See :meth:`Evidence.lacks`."""
        needed = fewest(1 - level)
        have = listed(list(map(str, self._sessions)))
        if self.followed:
            return (
                "sessions of a study that follow each other resemble each other, so that "
                f"{have} of them tell less than they look; sessions of both studies by turns "
                "would tell"
            )
        return f"a verdict beyond these sessions takes {needed} of each study, and there are {have}"

    def over(self, level: float) -> OverStudies | None:
        """See :meth:`Evidence.over`."""
        found = self.within and self.within.interval(LEVEL)
        low, high = map(ratio_of, found) if found else (None, None)
        ratio = ratio_of(self.within.estimate) if self.within else None
        told = "Of these sessions alone nothing can be said either: values were not repeated."
        if ratio is not None and low is not None and high is not None:
            told = (
                f"In the blocks of these sessions alone: {_signed(ratio, low, high)} "
                f"(95 % CI {compatible(low, high)}; {listed(list(map(str, self.blocks)))} blocks)."
            )
        return OverStudies(
            blocks=self.blocks,
            sessions=self._sessions,
            ratio=ratio,
            low=low,
            high=high,
            lacks="" if self.interval(1 - level) else self.lacks(level),
            sentence=told,
        )


def told_over_studies(findings: Findings, *, pooled: bool) -> Findings:
    """The findings with answers and a design that say what studies are compared, and how."""
    workloads = tuple(
        workload.model_copy(update={"answer": " ".join(_answer(workload))})
        for workload in findings.workloads
    )
    return findings.model_copy(
        update={
            "workloads": workloads,
            "answer": _headline(findings.model_copy(update={"workloads": workloads})),
            "design_sentence": _design(findings, pooled=pooled),
        }
    )


def _headline(findings: Findings) -> str:
    """What is decided; of what is open why, and what these studies say of it."""
    pairs = headlines(findings)
    told = [pair for pair in pairs if pair.verdict not in _OPEN]
    return " ".join((*_decided(told, len(pairs)), *_left_open(findings, len(pairs))))


def _decided(told: Sequence[Comparison], of: int) -> Iterator[str]:
    for pair in told[:TOLD]:
        yield pair.sentence
        if pair.verdict != "equivalent" and pair.over and pair.over.apart:
            yield f"In {listed(pair.over.apart)} it is the other way round."
    if len(told) > TOLD:
        yield f"{part_of(len(told), of, 'comparison')} decided."


def _left_open(findings: Findings, of: int) -> Iterator[str]:
    left = [
        (own.index.label, pair)
        for own in findings.workloads
        for pair in own.index.comparisons
        if pair.verdict in _OPEN
    ]
    if not left:
        return
    on = "" if of == 1 else f" on {len(left)} of {count_of(of, 'comparison')}"
    why = next((pair.over.lacks for _, pair in left if pair.over and pair.over.lacks), "")
    yield f"No verdict{on}: {why}." if why else f"No difference shown{on}."
    for label, pair in left[:TOLD]:
        over = pair.over
        if over is None or pair.low is not None:
            yield pair.sentence
        elif over.ratio is not None and over.low is not None and over.high is not None:
            where = "In these blocks alone" if not over.values else "If studies spread normally"
            yield (
                f"{where}, {pair.system} against {pair.against} in {label}: "
                f"{_signed(over.ratio, over.low, over.high)} "
                f"(95 % CI {compatible(over.low, over.high)})."
            )


def _answer(workload: WorkloadFindings) -> Iterator[str]:
    for pair in workload.index.comparisons:
        yield pair.sentence
        if pair.over:
            yield pair.over.sentence


def _design(findings: Findings, *, pooled: bool) -> str:
    how = (
        "Systems are compared within the blocks of each study; the means of the log ratios are "
        "pooled by random effects: the spread between studies by Paule and Mandel, the interval by "
        "Hartung and Knapp, never narrower than with that spread taken as known. No interval is "
        "surer than how rarely studies of two equally frequent kinds are all of one kind, so that "
        "fewer than six studies decide nothing."
        if pooled
        else "The studies did not take turns, so what a session shares is part of every difference "
        "between them: the session is what is replicated. Verdicts are by exact ranks of the means "
        "of sessions (Mann and Whitney, Hodges and Lehmann). The interval within these sessions "
        "is Welch's of their blocks on the log scale, and decides nothing."
    )
    headlines = sum(len(own.index.comparisons) for own in findings.workloads)
    family = (
        f" {count_of(headlines, 'comparison')} of whole workloads "
        f"{agreeing(headlines, 'is', 'are')} corrected together by Holm, with "
        "simultaneous 95 % intervals"
        if headlines > 1
        else " There is one comparison of a whole workload, with a 95 % interval"
    )
    metrics = (
        f", {findings.family} of single metrics by Benjamini and Hochberg"
        if findings.family
        else ""
    )
    within = f"{100 * findings.design.equivalent_within:g} %"
    return f"{how}{family}{metrics}. Equivalence margin: ±{within}."


def _pooled(found: dict[str, FloatArray]) -> Evidence:
    """One value a study: the mean over its blocks, with its variance."""
    means = np.array([logs.mean() for logs in found.values()])
    variances = np.array([logs.var(ddof=1) / len(logs) for logs in found.values()])
    values = tuple(map(_in_study, found, found.values()))
    if len(found) < 2:
        return Pooled(float(means.mean()), 1, None, tuple(means.tolist()), None, values)
    effects = RandomEffects(means, variances)
    return Pooled(effects.mean, len(found), effects.p, tuple(means.tolist()), effects, values)


def _in_study(name: str, logs: FloatArray) -> InStudy:
    mean, n = float(logs.mean()), len(logs)
    reach = critical_t(n, LEVEL) * float(logs.std(ddof=1)) / math.sqrt(n)
    ratio, low, high = map(ratio_of, (mean, mean - reach, mean + reach))
    return InStudy(study=name, blocks=n, ratio=ratio, low=low, high=high)


def _between(
    first: Location,
    second: Location,
    ours: dict[str, FloatArray],
    theirs: dict[str, FloatArray],
) -> Between:
    ranks = RankSum(*(np.array([own.mean() for own in side.values()]) for side in (ours, theirs)))
    (within,) = unpaired([(first, second)])
    blocks, own = (first.n, second.n), follows(ranks.first, ranks.second)
    p = None if own else ranks.p
    return Between(ranks.estimate, min(blocks), p, (), ranks, within, blocks, own)


def follows(first: FloatArray, second: FloatArray) -> bool:
    """Whether means of sessions, in their order, resemble the one before in their own study.

    By permutation of the lag-1 autocorrelation within both. So few sessions show little, so the
    level is 10 %: of studies whose sessions have nothing in common a tenth is refused a verdict.
    """
    n = len(first)

    def within(rows: FloatArray) -> FloatArray:
        sides = [side - side.mean(axis=1, keepdims=True) for side in (rows[:, :n], rows[:, n:])]
        power = sum((side**2).sum(axis=1) for side in sides)
        product = sum((side[:, 1:] * side[:, :-1]).sum(axis=1) for side in sides)
        found: FloatArray = np.divide(product, power, out=np.zeros_like(power), where=power > 0)
        return found

    centred = np.concatenate([first - first.mean(), second - second.mean()])
    return permutation_p(within, centred, seed=len(centred)) <= _FOLLOWS


def _by_group(found: Replicates) -> dict[str, FloatArray]:
    """Group → its logarithms, in the order of blocks."""
    names = np.array(found.groups)
    return {name: found.logs[names == name] for name in dict.fromkeys(found.groups)}


def _spread(found: OverStudies) -> Iterator[str]:
    """How far the studies differ, and which of them contradict."""
    if found.tau is None or found.tau_low is None or found.tau_high is None:
        return
    tau, low, high = (_percent(sd) for sd in (found.tau, found.tau_low, found.tau_high))
    yield (
        f"Between studies the standard deviation is {tau} % (95 % CI {low} to {high} %; "
        f"I² {100 * (found.i2 or 0.0):.0f} %, p of Cochran's Q {p_number(found.p_same)})."
    )
    if found.predicted_low is not None and found.predicted_high is not None:
        yield (
            "Another study like these is expected within "
            f"{compatible(found.predicted_low, found.predicted_high)} (95 % prediction interval)."
        )
    if found.apart:
        yield f"On the other side of no difference: {listed(found.apart)}."
    yield (
        f"That is for what is typical: a kind of host or day rarer than "
        f"{100 * unmet(len(found.values)):.0f} % may not have been met in "
        f"{count_of(len(found.values), 'study')}."
    )


def _is_apart(one: InStudy, estimate: float) -> bool:
    return one.high < 1 if estimate > 0 else one.low > 1


def _percent(sd: float) -> str:
    return format_number(100 * sd, 2)


def _signed(ratio: float, low: float, high: float) -> str:
    scale = scale_of_doubt(low, high)
    return scale.signed(ratio) + ("" if scale.factor else " %")


def _clipped(low: float, high: float) -> tuple[float, float]:
    return max(low, -FARTHEST), min(high, FARTHEST)


def compared_over(findings: Findings) -> Sequence[tuple[WorkloadFindings, Comparison]]:
    """Every comparison of a workload as a whole that is over studies, in the order of print."""
    return [
        (workload, pair)
        for workload in findings.workloads
        for pair in workload.index.comparisons
        if pair.over
    ]
