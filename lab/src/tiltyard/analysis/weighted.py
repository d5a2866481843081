"""What follows from verdicts' intervals without a new test: weighted means, cost and energy.

The intervals of all headline comparisons hold simultaneously. So the weighted geometric mean of
ratios lies between that of the bounds with the same confidence, and a ratio times a constant
between the bounds times it: no further assumption is made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Final, Literal

from tiltyard.analysis.model import Findings, Index
from tiltyard.analysis.pairs import between
from tiltyard.analysis.verdict import Verdict, turned_estimate
from tiltyard.frozen import Frozen

_HOUR_S: Final = 3600


class Gain(Frozen):
    """How much better a system is than the baseline: above 1 is better, whatever is measured."""

    ratio: float | None
    """``None``, as are its bounds: there are too few blocks for an interval."""
    low: float | None
    high: float | None
    verdict: Verdict


def gain_of(index: Index, system: str, baseline: str) -> Gain:
    """Of a system over the baseline, in one index."""
    found = between(index.comparisons, system, baseline)
    if found is None or found.ratio is None or found.low is None or found.high is None:
        verdict = found.verdict if found else "undecided"
        return Gain(ratio=None, low=None, high=None, verdict=verdict)
    own = found if index.direction == "higher" else turned_estimate(found)
    return Gain(ratio=own.ratio, low=own.low, high=own.high, verdict=found.verdict)


def of_bounds(low: float, high: float, within: float) -> Verdict:
    """The verdict that bounds of a ratio leave; equivalence before any other."""
    if 1 / (1 + within) < low and high < 1 + within:
        return "equivalent"
    return "faster" if low > 1 else "slower" if high < 1 else "undecided"


def together(gains: Mapping[str, Gain], shares: Mapping[str, float], within: float) -> Gain:
    """The weighted geometric mean, and the verdict that follows from its bounds.

    Args:
        gains: purpose → how much better.
        shares: purpose → its weight; those of ``gains`` sum up to 1.
        within: differences inside it count as none, before any other verdict.
    """

    def mean(bound: Literal["ratio", "low", "high"]) -> float | None:
        values = {name: getattr(gain, bound) for name, gain in gains.items()}
        if None in values.values():
            return None
        return exp(sum(shares[name] * log(value) for name, value in values.items()))

    ratio, low, high = mean("ratio"), mean("low"), mean("high")
    verdict: Verdict = "undecided"
    if any(gain.verdict == "invalid" for gain in gains.values()):
        verdict = "invalid"
    elif low is not None and high is not None:
        verdict = of_bounds(low, high, within)
    return Gain(ratio=ratio, low=low, high=high, verdict=verdict)


def weighted_means(findings: Findings, weights: Mapping[str, float]) -> dict[str, Gain]:
    """System → how much better than the baseline it is in the weighted mean over workloads.

    Args:
        findings: at least one workload.
        weights: workload → its weight, 1 for those that are not named; not all of them 0.
    """
    own = {one.name: weights.get(one.name, 1.0) for one in findings.workloads}
    total = sum(own.values())
    shares = {name: weight / total for name, weight in own.items() if weight}
    counted = [one for one in findings.workloads if one.name in shares]
    within = findings.design.equivalent_within
    return {
        system.name: together(
            {one.name: gain_of(one.index, system.name, findings.baseline) for one in counted},
            shares,
            within,
        )
        for system in findings.systems
        if system.name != findings.baseline
    }


Sort = Literal["price", "price_per_hour", "watts"]


@dataclass(frozen=True)
class Spent:
    """What a system takes for what it does; less is better."""

    system: str
    value: float
    """Of a rate (more is better): price per unit of the rate, or money or joule for each operation
    or byte. Of a time: price times seconds, or money or joule for each execution."""
    ratio: Gain | None
    """Of it to that of the baseline: ``faster`` says that it takes more. ``None`` for the baseline,
    and where the baseline has no price."""


@dataclass(frozen=True)
class Spending:
    """One workload, all systems of which the price or power is known."""

    index: Index
    sort: Sort
    systems: tuple[Spent, ...]


def spendings(findings: Findings, sort: Sort, constants: Mapping[str, float]) -> Iterator[Spending]:
    """What each workload takes as a whole, of which alone the verdict is simultaneous.

    Args:
        findings: values and comparisons.
        sort: what the constants are.
        constants: system → price, price of an hour, or W; exactly known.
    """
    each = {name: one / (_HOUR_S if sort == "price_per_hour" else 1)
            for name, one in constants.items()}  # fmt: skip
    for index in (workload.index for workload in findings.workloads):
        # Of a mean over different units, or of what is less but no time, nothing is a price.
        if not index.unit or (index.direction == "lower" and index.unit != "s"):
            continue
        values = {own.system: own.value for own in index.standings if own.value > 0}
        spent = tuple(
            Spent(
                name,
                each[name] / value if index.direction == "higher" else each[name] * value,
                _spent_ratio(findings, index, name, each),
            )
            for system in findings.systems
            if (name := system.name) in each and (value := values.get(name))
        )
        if spent:
            yield Spending(index, sort, spent)


def _spent_ratio(
    findings: Findings, index: Index, system: str, each: Mapping[str, float]
) -> Gain | None:
    base = findings.baseline
    if system == base or base not in each:
        return None
    gain, factor = gain_of(index, system, base), each[system] / each[base]
    if gain.ratio is None or gain.low is None or gain.high is None:
        return gain
    low, high = factor / gain.high, factor / gain.low
    verdict = of_bounds(low, high, findings.design.equivalent_within)
    return Gain(
        ratio=factor / gain.ratio,
        low=low,
        high=high,
        verdict="invalid" if gain.verdict == "invalid" else verdict,
    )
