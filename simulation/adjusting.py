"""Verdicts adjusted for what others did: claims, coverage and power beside unadjusted ones.

The noise of a paired difference is partly a covariate's, with a coefficient that nobody knows. The
rival is the usual regression, whose slope is that beside an intercept.

Of a system that makes others work the covariate is no noise: taken off, it would give away what the
system costs. Those are judged as a study judges them, with the test of the covariate, and without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import Bounds, Outcome, bounds_of, outcome
from simulation.section import Line, Section, percent, span, table
from tiltyard.stats.covariates import BALANCED_WITHIN
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, FamilyRules, judge_family
from tiltyard.stats.looks import LEVEL, looks
from tiltyard.stats.sequential import Evidence, Spending
from tiltyard.stats.types import FloatArray

SD: Final = 0.1 * float(np.sqrt(2))
"""Of the paired differences: trials that vary by 10 %."""
EFFECT: Final = 0.05
"""The difference whose power and coverage are told."""
EXPLAINED: Final = (0.0, 0.5, 0.9)
"""Shares of the variance that are the covariate's."""
ROPE: Final = float(np.log1p(0.02))
PROFILE: Final = "standard"
_SPENDING: Final = Spending(PROFILE, False, looks(PROFILE, False, None))
_BLOCKS: Final = _SPENDING.looks[-1][0]

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
Judge = Callable[[FloatArray, FloatArray], Bounds]
"""Differences and covariate, each of shape (paths, blocks), to intervals at the looks."""


def bursts(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Nothing in most trials, and much in some."""
    return np.where(rng.random(shape) < 0.15, rng.exponential(1, shape), 0.0)


LAWS: Final[dict[str, Draw]] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "bursts, 15 % of trials": bursts,
    "Student t₃": lambda rng, shape: rng.standard_t(3, shape),
}
"""Of the covariate in a trial; that of Student is also the law of the remaining noise."""


@dataclass(frozen=True)
class Waking:
    """A second system that makes others work, judged as a study judges it."""

    others: float
    """How much their share of the CPUs varies from trial to trial."""
    coefficient: float
    """Time lost by it."""
    wakes: float
    """How much more of the CPUs they take beside the second system, at no cost to its time."""
    effect: float
    """True difference in speed."""


WAKING: Final = (
    Waking(0.1, 1, 0, 0),
    Waking(0.1, 1, 0.02, 0),
    Waking(0.1, 1, 0.05, 0),
    Waking(0.1, 1, 0.1, 0),
    Waking(0.1, 1, 0.04, -0.025),
    Waking(0.003, 5, 0, 0),
    Waking(0.003, 5, 0.02, 0),
    Waking(0.003, 5, 0, 0.02),
)
_REST: Final = 0.2
"""Deviation of all other noise over that of what others cost: a 26th of the variance."""
FEWER: Final = 20
"""Those are judged one by one: of so many comparisons one."""
_RULES: Final = FamilyRules(ROPE, lambda p: p, LEVEL, True, False, 1.0)


@dataclass(frozen=True)
class WakingRates:
    """Shares of the comparisons of one kind."""

    case: Waking
    right: dict[str, float]
    """Way to judge → a difference is claimed that has the sign of the true one."""
    wrong: dict[str, float]
    """Another is, or one of equal systems."""
    withheld: float
    """There is no adjusted verdict, for the sake of the covariate."""


@dataclass(frozen=True)
class AdjustedRates:
    """One law of the covariate, and its share of the variance; shares of all comparisons."""

    law: str
    explained: float
    false: dict[str, float]
    """Way to judge → equal systems: a difference was claimed."""
    covered: dict[str, float]
    """The interval at stopping holds a true difference of :data:`EFFECT`."""
    found: dict[str, float]
    """That difference is claimed with the right sign."""
    blocks: dict[str, float]
    """Until then, on average."""


@dataclass(frozen=True)
class Adjusting:
    """All of the section."""

    laws: tuple[AdjustedRates, ...]
    waking: tuple[WakingRates, ...]
    paths: int
    """Comparisons of each kind of the latter."""


def unadjusted(differences: FloatArray, covariate: FloatArray) -> Bounds:
    """As if nothing was known of others."""
    del covariate
    return bounds_of(PROFILE)(differences)


def adjusted(differences: FloatArray, covariate: FloatArray) -> Bounds:
    """Ours."""
    return _bounds(
        lambda place, n: _SPENDING.evidence(
            place, differences[:, :n], covariates=covariate[:, :n, np.newaxis]
        )
    )


def with_intercept(differences: FloatArray, covariate: FloatArray) -> Bounds:
    """The slope of the usual regression, at each look."""

    def without_slope(n: int) -> FloatArray:
        d, x = differences[:, :n], covariate[:, :n]
        centred = x - x.mean(axis=1, keepdims=True)
        slope = (centred * d).sum(axis=1) / np.maximum((centred**2).sum(axis=1), 1e-12)
        left: FloatArray = d - x * slope[:, np.newaxis]
        return left

    return _bounds(lambda place, n: _SPENDING.evidence(place, without_slope(n)))


WAYS: Final[dict[str, Judge]] = {
    "unadjusted": unadjusted,
    "adjusted": adjusted,
    "with an intercept": with_intercept,
}


OURS: Final = ("unadjusted", "adjusted")


def waking_rates(paths: int, seed: int) -> tuple[WakingRates, ...]:
    """Every system of :data:`WAKING`, by the function that judges studies.

    Args:
        paths: comparisons simulated of each.
        seed: each has a stream of its own.
    """
    streams = np.random.SeedSequence(seed).spawn(len(WAKING))
    return tuple(
        _of_waking(case, paths, np.random.default_rng(stream))
        for case, stream in zip(WAKING, streams, strict=True)
    )


def _of_waking(case: Waking, paths: int, rng: np.random.Generator) -> WakingRates:
    cost = case.others * case.coefficient * float(np.sqrt(2))
    covariates = rng.normal(0, case.others * np.sqrt(2), (paths, _BLOCKS))
    differences = case.coefficient * covariates + rng.normal(0, _REST * cost, covariates.shape)
    differences += np.log1p(case.effect)
    covariates -= case.wakes
    claims = {way: np.zeros(paths) for way in (*OURS, "adjusted, covariate not tested")}
    withheld = 0
    for path, (own, covariate) in enumerate(zip(differences, covariates, strict=True)):
        plain, found = (
            judge_family(PairedBlocks(_SPENDING, own[np.newaxis], None, given), _RULES, 0)
            for given in (None, covariate[np.newaxis, :, np.newaxis])
        )
        for way, judged in zip(OURS, (plain, found), strict=True):
            if judged.outcome[0] == DIFFERENT:
                claims[way][path] = np.sign(judged.estimate[0])
        withheld += bool(found.balance and found.balance.unshown.any())
    untested = adjusted(differences, covariates)
    claims["adjusted, covariate not tested"] = outcome(untested, 0.0, ROPE).claim.astype(np.float64)
    true = np.sign(case.effect)
    return WakingRates(
        case=case,
        right={way: float(np.mean((own == true) & (own != 0))) for way, own in claims.items()},
        wrong={way: float(np.mean((own != true) & (own != 0))) for way, own in claims.items()},
        withheld=withheld / paths,
    )


def adjusting(paths: int, seed: int) -> Adjusting:
    """Both parts of the section."""
    fewer = max(1, paths // FEWER)
    return Adjusting(adjusted_rates(paths, seed), waking_rates(fewer, seed + 1), fewer)


def adjusted_rates(paths: int, seed: int) -> tuple[AdjustedRates, ...]:
    """Every way to judge under every law; the same seed gives the same rates.

    Args:
        paths: comparisons simulated of each kind.
        seed: each law has a stream of its own.
    """
    streams = np.random.SeedSequence(seed).spawn(len(LAWS))
    return tuple(
        _of_law(law, explained, paths, np.random.default_rng(stream))
        for law, stream in zip(LAWS, streams, strict=True)
        for explained in EXPLAINED
    )


def drawn(
    law: str, explained: float, paths: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Paired differences of equal systems, and those of the covariate; (paths, blocks) each."""
    draw = LAWS[law]
    of_rest = draw if law.startswith("Student") else LAWS["normal"]
    covariate, rest = (_unit(own(rng, (2, paths, _BLOCKS))) for own in (draw, of_rest))
    noise: FloatArray = np.sqrt(explained) * covariate + np.sqrt(1 - explained) * rest
    return SD * noise, covariate


def _unit(values: FloatArray) -> FloatArray:
    """Differences of two trials, of deviation 1."""
    differences = values[0] - values[1]
    return np.asarray(differences / differences.std())


def _of_law(law: str, explained: float, paths: int, rng: np.random.Generator) -> AdjustedRates:
    differences, covariate = drawn(law, explained, paths, rng)
    effect = float(np.log1p(EFFECT))
    equal = {name: _ends(judge, differences, covariate, 0.0) for name, judge in WAYS.items()}
    apart = {name: _ends(judge, differences, covariate, effect) for name, judge in WAYS.items()}
    return AdjustedRates(
        law=law,
        explained=explained,
        false={name: float(np.mean(found.claim != 0)) for name, found in equal.items()},
        covered={name: float(np.mean(found.covered)) for name, found in apart.items()},
        found={name: float(np.mean(found.claim == 1)) for name, found in apart.items()},
        blocks={name: float(np.mean(found.blocks)) for name, found in apart.items()},
    )


def _ends(judge: Judge, differences: FloatArray, covariate: FloatArray, effect: float) -> Outcome:
    """How comparisons end; adjusted intervals do not simply move with the effect."""
    bounds = judge(differences + effect, covariate)
    around = Bounds(bounds.blocks, bounds.low - effect, bounds.high - effect)
    return outcome(around, effect, ROPE)


def _bounds(evidence: Callable[[int, int], Evidence]) -> Bounds:
    """The intervals of all looks."""
    found = [evidence(place, n) for place, (n, _) in enumerate(_SPENDING.looks)]
    return Bounds(
        np.array([n for n, _ in _SPENDING.looks]),
        np.stack([one.low for one in found], axis=1),
        np.stack([one.high for one in found], axis=1),
    )


def _told(found: Adjusting) -> str:
    head = (
        "time of others",
        "of the variance, %",
        *(f"false claims {way}, %" for way in WAYS),
        *(f"{100 * EFFECT:g} % found {way}, % (blocks)" for way in OURS),
        *(f"intervals that hold it, {way}, %" for way in OURS),
    )
    rows = [
        (
            own.law,
            percent(own.explained, 0),
            *(percent(own.false[way]) for way in WAYS),
            *(f"{percent(own.found[way], 0)} ({own.blocks[way]:.1f})" for way in OURS),
            *(percent(own.covered[way]) for way in OURS),
        )
        for own in found.laws
    ]
    waking = [
        (
            f"{percent(own.case.others)}, each costs {own.case.coefficient:g}×",
            percent(own.case.wakes, 0),
            percent(own.case.effect),
            *(f"{percent(own.wrong[way])} ({percent(own.right[way])})" for way in own.wrong),
            percent(own.withheld, 0),
        )
        for own in found.waking
    ]
    ways = found.waking[0].wrong
    head_of_waking = (
        "others vary by, %",
        "the second system wakes, %",
        "it is faster by, %",
        *(f"{way}: false or turned round, % (right)" for way in ways),
        "no adjusted verdict, %",
    )
    return f"""
## Adjusted for what others did

Paired differences that vary by 14 % (trials by 10 %), of which a share goes with what others took
of the CPUs that measure, with a coefficient that nobody knows; the standard profile:

{table(head, rows)}

Each look is exact by itself, whatever the law. Over all looks the constants assume how unadjusted
ones go together, which for adjusted ones is no theorem (the `strict` constants assume nothing). The
usual regression, with an intercept, claims nearly twice what it should. Where others explain
nothing, adjusting costs one to three points of power.

All of that is of systems beside which others take the same. One that itself makes others work (it
wakes a daemon, or its work is done by a server elsewhere) would be relieved of what it costs. So
the covariate is tested at the same looks, and there is an adjusted verdict only where its interval
lies within ±{100 * BALANCED_WITHIN:g} % and it is not shown to differ; {found.paths:,} comparisons
of each kind:

{table(head_of_waking, waking)}

The price is the power of the table above wherever others vary by much: that they took more of one
side by chance looks as if it had made them.
"""


def _lines(found: Adjusting) -> tuple[Line, ...]:
    claims = span(own.false["adjusted"] for own in found.laws)
    with_intercept = span(own.false["with an intercept"] for own in found.laws)
    waking = span(own.wrong["adjusted"] for own in found.waking)
    untested = span(own.wrong["adjusted, covariate not tested"] for own in found.waking)
    return (
        Line("a system makes others work: adjusted verdicts that are false", "5.5 %", waking),
        Line("the same, the covariate not tested", "–", untested, rival=True),
        Line("adjusted verdicts: false claims, over all laws and shares", "5.5 %", claims),
        Line("regression with an intercept: false claims", "–", with_intercept, rival=True),
    )


SECTION: Final = Section("adjusting", adjusting, _told, _lines)
