"""By what two systems are compared in values that were not planned here: one of these estimators.

Which one follows from what is known of the values, never from the values (:func:`estimator_of`):

* in the blocks of several studies: one value a study, by random effects;
* each in a study of its own: means of their sessions, by exact ranks;
* in six blocks or more that they share: exact signed ranks of the log ratios;
* else Welch's t on the log scale, with an error that is not below that of pooled variances; of a
  mean with its standard error by the first-order (delta) approximation, ``se(ln m) = se / m``.

Each says of itself why it has no interval. What rounding leaves open of a location widens the
interval on both sides in full and is taken off the estimate before it is tested.

Study against study nothing is paired, and what a session adds to all of its blocks cannot be told
from a difference: so the session is what is replicated.

Sources: Welch, Biometrika 34 (1947); Oehlert, "A note on the delta method", Am. Stat. 46 (1992);
pairs: :mod:`tiltyard.stats.signed_rank`; studies: :mod:`tiltyard.stats.random_effects`; sessions:
:mod:`tiltyard.stats.rank_sum`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from tiltyard.analysis.dataset import FEWEST_VALUES, Replicates, Sample
from tiltyard.analysis.judging import FARTHEST
from tiltyard.analysis.statements.numbers import (
    compatible,
    coverage,
    p_number,
    scale_of_doubt,
)
from tiltyard.analysis.verdict import InStudy, OverStudies
from tiltyard.stats.permutation import permutation_p
from tiltyard.stats.random_effects import RandomEffects, unmet
from tiltyard.stats.rank_sum import RankSum, fewest
from tiltyard.stats.signed_rank import largest_c, nominal_p, signed_rank
from tiltyard.stats.student import critical_t
from tiltyard.stats.types import FloatArray, IntArray
from tiltyard.stats.walsh import walsh_signs
from tiltyard.stats.welch import Moments, error_and_freedom, pooled_error
from tiltyard.units import agreeing, count_of, format_number, listed

LEVEL: Final = 0.05
FEWEST_PAIRS: Final = 6
"""Fewer paired blocks cannot give a 95 % interval; they count as two heaps then."""
_FOLLOWS: Final = 0.10

Kind = Literal["studies", "sessions", "blocks", "values"]
"""What is replicated."""


@dataclass(frozen=True)
class Evidence:
    """``ln(system / against)``; this class where nothing tells how sure it is."""

    estimate: float
    n: int
    """Pairs, or values of the smaller heap."""
    p: float | None = None
    differences: tuple[float, ...] = ()
    """Log ratio of each block, where blocks are paired."""
    averaged: bool = field(default=False, kw_only=True)
    """Whether a value is the mean of what its file repeats."""

    @property
    def paired(self) -> bool:
        """Whether it rests on blocks."""
        return bool(self.differences)

    @property
    def basis(self) -> str:
        """What an interval rests on."""
        return f"{self.n} {'paired blocks' if self.paired else 'values a side, not paired'}"

    def lacks(self, level: float) -> str:
        """Why there is no interval of a level."""
        if self.paired:
            return (
                f"{count_of(self.n, 'paired block has', 'paired blocks have')} no "
                f"{coverage(level)} interval"
            )
        if self.n < FEWEST_VALUES and self.averaged:
            have = "each side is one sequence" if self.n < 2 else "two files a side are too few"
            return (
                f"{have}: what a file repeats shares its process or its hour, so it is one "
                f"value; {FEWEST_VALUES} files of each side that took turns are the fewest"
            )
        if self.n < 2:
            return "repetitions of both were not kept"
        if self.n < FEWEST_VALUES:
            return (
                f"{count_of(self.n, 'value')} a side {agreeing(self.n, 'is', 'are')} fewer than "
                f"{FEWEST_VALUES}"
            )
        return "no spread of both is known"

    def over(self, level: float) -> OverStudies | None:  # noqa: ARG002
        """What is known beside an interval of a level, where it is of several studies."""
        return None

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:  # noqa: ARG002
        """Low and high end at the level ``1 - alpha``; ``None`` where there is no such interval.

        It excludes zero if ``p`` is less than ``alpha``.
        """
        return None


@dataclass(frozen=True)
class Heaps(Evidence):
    """Two heaps of values, by Welch's t."""

    error: float = math.nan
    freedom: float = math.nan
    rounding: float = 0.0

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`."""
        reach = float(-stdtrit(self.freedom, alpha / 2)) * self.error + self.rounding
        return max(self.estimate - reach, -FARTHEST), min(self.estimate + reach, FARTHEST)


@dataclass(frozen=True)
class Blocks(Evidence):
    """Paired blocks, by exact signed ranks; whatever the kept digits stand for."""

    rounding: tuple[float, ...] = ()

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`; so few blocks may have none of a high level."""
        try:
            c = largest_c(self.n, alpha)
        except ValueError:
            return None
        differences, rounding = np.array(self.differences), np.array(self.rounding)
        low = signed_rank(differences - rounding, c).low
        high = signed_rank(differences + rounding, c).high
        return max(low, -FARTHEST), min(high, FARTHEST)


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
                f"In the blocks of these sessions alone: {signed(ratio, low, high)} "
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


def estimator_of(first: Sample, second: Sample) -> Kind:
    """What two samples are compared by; no value has a part in it."""
    own, other = first.replicates, second.replicates
    if own is None or other is None:
        return "values"
    shared = len(_shared(own, other))
    if own.sessions:
        return "studies" if shared else "sessions"
    return "values" if shared < FEWEST_PAIRS else "blocks"


def evidence_of(pairs: Sequence[tuple[Sample, Sample]]) -> list[Evidence]:
    """What each pair of samples says, those of heaps all at once."""
    kinds = [estimator_of(*pair) for pair in pairs]
    of_heaps = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "values"]
    heaps = iter(unpaired(of_heaps))
    return [
        next(heaps) if kind == "values" else _PAIRWISE[kind](*pair)
        for pair, kind in zip(pairs, kinds, strict=True)
    ]


def _shared(own: Replicates, other: Replicates) -> IntArray:
    """Numbers of the blocks of both, ascending."""
    return np.intersect1d(own.blocks, other.blocks) if len(own.blocks) else own.blocks


def paired(first: Sample, second: Sample) -> Evidence:
    """The blocks that both sides share."""
    logs, rounding, _ = _in_shared(first, second)
    return of_pairs(logs, rounding)


def _in_shared(first: Sample, second: Sample) -> tuple[FloatArray, FloatArray, list[str]]:
    """Log ratios in the blocks of both, what rounding leaves open of each, and their sessions."""
    own, other = _of_blocks(first), _of_blocks(second)
    ours, theirs = (np.searchsorted(one.blocks, _shared(own, other)) for one in (own, other))
    sessions = [own.sessions[place] for place in ours] if own.sessions else []
    logs = own.logs[ours] - other.logs[theirs]
    return logs, own.rounding[ours] + other.rounding[theirs], sessions


def _of_blocks(sample: Sample) -> Replicates:
    """Its replicates, which what is compared within blocks or sessions has."""
    if sample.replicates is None:
        raise ValueError("only means were kept")
    return sample.replicates


def of_pairs(differences: FloatArray, rounding: FloatArray) -> Evidence:
    """Log ratios of paired blocks with what rounding leaves open of each; shape (n,), n >= 6.

    The p-value is the largest that any values have which round to the ones that were kept.
    """
    n = len(differences)
    not_negative, _ = walsh_signs(np.sort(differences + rounding))
    _, not_positive = walsh_signs(np.sort(differences - rounding))
    return Blocks(
        estimate=signed_rank(differences, largest_c(n, LEVEL)).estimate,
        n=n,
        p=nominal_p(n, min(not_negative, not_positive)),
        differences=tuple(differences.tolist()),
        rounding=tuple(rounding.tolist()),
    )


def unpaired(pairs: Sequence[tuple[Sample, Sample]]) -> list[Evidence]:
    """Two heaps each, all at once: one whose spread is not known gives no interval."""
    known = [pair for pair in pairs if pair[0].error is not None and pair[1].error is not None]
    found = iter(_welch(known)) if known else iter(())
    return [
        next(found)
        if first.error is not None and second.error is not None
        else Evidence(
            first.mean - second.mean,
            min(first.n, second.n),
            averaged=first.averaged or second.averaged,
        )
        for first, second in pairs
    ]


def _welch(pairs: Sequence[tuple[Sample, Sample]]) -> list[Evidence]:
    first, second = (_moments([pair[side] for pair in pairs]) for side in (0, 1))
    error, freedom = error_and_freedom(first, second)
    # Of a few values that happen to agree beside many that do not, Welch's error is that of the
    # many: noise with two modes then makes up to a fifth of equal systems differ. Of equally many
    # values both errors are the same.
    error = np.maximum(error, pooled_error(first, second))
    estimate = first.mean - second.mean
    rounding = np.array([own.rounding + other.rounding for own, other in pairs])
    p = 2 * stdtr(freedom, -np.maximum(np.abs(estimate) - rounding, 0.0) / error)
    columns = (one.tolist() for one in (estimate, p, error, freedom, rounding))
    return [
        Heaps(found, min(own.n, other.n), p_value, (), *spread)
        for (own, other), found, p_value, *spread in zip(pairs, *columns, strict=True)
    ]


def _moments(found: Sequence[Sample]) -> Moments:
    n = np.array([float(one.n) for one in found])
    error = np.array([one.error or 0.0 for one in found])
    return Moments(n, np.array([one.mean for one in found]), error**2 * n)


def _of_studies(first: Sample, second: Sample) -> Evidence:
    """One value a study with enough blocks: the mean over these, with its variance."""
    logs, _, names = _in_shared(first, second)
    every = _by_session(logs, names)
    found = {name: own for name, own in every.items() if len(own) >= FEWEST_VALUES}
    if not found:
        return Pooled(float(logs.mean()), 0)
    means = np.array([own.mean() for own in found.values()])
    variances = np.array([own.var(ddof=1) / len(own) for own in found.values()])
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


def _of_sessions(first: Sample, second: Sample) -> Evidence:
    """Means of the sessions of two studies."""
    own, other = _of_blocks(first), _of_blocks(second)
    sides = (_by_session(side.logs, side.sessions) for side in (own, other))
    ranks = RankSum(*(np.array([one.mean() for one in side.values()]) for side in sides))
    (within,) = unpaired([(first, second)])
    blocks, alike = (first.n, second.n), follows(ranks.first, ranks.second)
    p = None if alike else ranks.p
    return Between(ranks.estimate, min(blocks), p, (), ranks, within, blocks, alike)


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


def _by_session(logs: FloatArray, sessions: Sequence[str]) -> dict[str, FloatArray]:
    """Session → its logarithms, in the order of blocks."""
    names = np.array(sessions)
    return {name: logs[names == name] for name in dict.fromkeys(sessions)}


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


def signed(ratio: float, low: float, high: float) -> str:
    """A ratio in percent, with as many digits as its interval allows."""
    scale = scale_of_doubt(low, high)
    return scale.signed(ratio) + ("" if scale.factor else " %")


def _clipped(low: float, high: float) -> tuple[float, float]:
    return max(low, -FARTHEST), min(high, FARTHEST)


def ratio_of(estimate: float) -> float:
    """The ratio of a log ratio, a number also where no float is so large."""
    return math.exp(min(max(estimate, -FARTHEST), FARTHEST))


_PAIRWISE: Final = {"studies": _of_studies, "sessions": _of_sessions, "blocks": paired}
