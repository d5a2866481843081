"""Further findings over the order of trials: steps, drift, autocorrelation, outliers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import numpy as np

from tiltyard.analysis.order import DRIFT_PERCENT, foreign_share, steal_share
from tiltyard.analysis.statements.evidence import ALPHA, Candidate, Result, Scene
from tiltyard.analysis.statements.numbers import interval, nearest, p_text, ratio
from tiltyard.analysis.statements.statement import Statement
from tiltyard.run.record import TrialRecord
from tiltyard.stats.autoregressive import line_p, step_p
from tiltyard.stats.level_shift import level_shift
from tiltyard.stats.outliers import Outlier, max_outlier
from tiltyard.stats.permutation import lag_one, largest_cusum, permutation_p
from tiltyard.stats.trend import theil_sen_interval, thinned, trend
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of

TRIALS: Final = 20
"""Fewer trials tell nothing of their order."""
LASTING: Final = 0.02
"""Chance that noise which lasts from block to block looks as much like a step, or a drift."""
LEAST: Final = math.log1p(DRIFT_PERCENT / 100)
"""A smaller change, on the log scale, is not reported."""


@dataclass(frozen=True)
class Series:
    """How far each trial, or each block, is from what is typical of the systems, log scale."""

    slots: FloatArray
    """Places in the run, ascending; of a block their mean."""
    values: FloatArray
    trials: int
    blocks: int
    systems: tuple[str, ...]
    block_of: tuple[int, ...]
    """The block of each trial."""

    @property
    def of_blocks(self) -> "Series":
        """Means of whole blocks: what lasts through a block says nothing of what follows it."""
        _, block = np.unique(self.block_of, return_inverse=True)
        count = np.bincount(block)
        slots = np.bincount(block, self.slots) / count
        values = np.bincount(block, self.values) / count
        order = np.argsort(slots)
        return replace(self, slots=slots[order], values=values[order], block_of=())

    @property
    def condensed(self) -> "Series":
        """The same, neighbours together if there are many: see :func:`thinned`."""
        slots, values = thinned(self.slots, self.values)
        return replace(self, slots=slots, values=values, block_of=())

    def is_long(self, min_blocks: int) -> bool:
        """Whether there is enough of it to be tested."""
        return self.trials >= TRIALS and self.blocks >= min_blocks

    def claim(self, size: float, sentence: str, evidence: str) -> Candidate:
        """A claim on the order of the trials: what one kind has reported, no later one repeats."""
        return Candidate(
            subject=("order",),
            place="",
            metric=None,
            systems=self.systems,
            blocks=self.blocks,
            size=size,
            sentence=sentence,
            evidence=evidence,
            covers=(("order",),),
        )


def series_of(scene: Scene) -> Series:
    """The series of a workload; trials without a value are no part of it."""
    measured = scene.measured
    rows = {block: row for row, block in enumerate(measured.blocks)}
    columns = {system: column for column, system in enumerate(measured.systems)}
    relative = scene.relative
    found = sorted(
        (trial.slot, float(relative[rows[key.block], columns[key.system]]), key.block)
        for trial in measured.trials
        if (key := trial.key).block in rows and key.repeat == 1
    )
    found = [one for one in found if np.isfinite(one[1])]
    slots = np.array([slot for slot, _, _ in found], dtype=np.float64)
    values = np.array([value for _, value, _ in found], dtype=np.float64)
    block_of = tuple(block for _, _, block in found)
    return Series(slots, values, len(found), len(set(block_of)), measured.systems, block_of)


def is_rather_a_step(series: Series, place: int) -> bool:
    """Whether two levels describe the series better than a line, by Schwarz's criterion.

    The place of a step was searched for, which counts as two parameters more (Zhang and Siegmund,
    "A modified Bayes information criterion", Biometrics 63, 2007).
    """
    n = len(series.values)
    before, after = series.values[:place], series.values[place:]
    steps = np.sum((before - before.mean()) ** 2) + np.sum((after - after.mean()) ** 2)
    line = np.polynomial.Polynomial.fit(series.slots, series.values, 1)(series.slots)
    return bool(steps * n ** (2 / n) < np.sum((series.values - line) ** 2))


def _step_tests(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).of_blocks.condensed
    if series.is_long(STEP.min_blocks):
        yield step_in(scene.display, series, scene.plan.seed)


def step_in(workload: str, series: Series, seed: int) -> Result:
    """What the blocks of a workload say of a step; ``seed`` is that of the permutations."""
    p = permutation_p(largest_cusum, series.values, seed=seed)
    return Result(p, _step_claim(workload, series, p) if p < ALPHA else None)


def _step_claim(workload: str, series: Series, p: float) -> Candidate | None:
    """``None`` where no single step is found, it is too small, or noise or a line explains it."""
    found = level_shift(series.values, ALPHA)
    if found is None or nearest(found.low, found.high) <= LEAST:
        return None
    lasting = step_p(series.values)
    if lasting >= LASTING or not is_rather_a_step(series, found.place):
        return None
    # Between two blocks.
    trial = math.ceil(series.slots[found.place - 1 : found.place + 1].mean())
    parts = found.change, found.low, found.high
    return series.claim(
        size=nearest(found.low, found.high),
        sentence=(
            f"{workload}: step change of {ratio(*parts)} at trial {trial} of the session "
            f"({interval(*parts[1:])}, "
            f"{count_of(series.blocks, 'block')}, {count_of(series.trials, 'trial')})"
        ),
        evidence=(
            f"largest cumulative sum of the distances of blocks from what is typical of the "
            f"systems, permutation of blocks {p_text(p)}; two levels against an autoregression "
            f"{p_text(lasting)}; place by PELT, interval by Welch"
        ),
    )


STEP: Final = Statement(
    name="step",
    shown="further finding",
    says="WORKLOAD: step change of … at trial … of the session",
    test=(
        "permutation of blocks, of the largest cumulative sum of their mean residuals; place by "
        "PELT; printed where the step is certainly larger than 1 %, two levels fit better than a "
        "line, and better than an autoregression by more than by chance in one of any correlation"
    ),
    min_blocks=12,
    correction="family",
    make=_step_tests,
)


def _drift_tests(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).of_blocks.condensed
    if series.is_long(DRIFT.min_blocks) and (found := drift_in(scene.display, series)):
        yield found


def drift_in(workload: str, series: Series) -> Result | None:
    """What the blocks of a workload say of a drift; ``None`` where all values are the same."""
    found = trend(series.slots, series.values)
    if found is None:
        return None
    claim = None
    if found.p < ALPHA:
        claim = _drift_claim(workload, series, found.slope, found.spearman, found.p)
    return Result(found.p, claim)


def _drift_claim(
    workload: str, series: Series, slope: float, spearman: float, p: float
) -> Candidate | None:
    """``None`` where the drift is too small to matter, or rather is a step, or noise that lasts."""
    span = float(series.slots[-1] - series.slots[0])
    ends = theil_sen_interval(series.slots, series.values, ALPHA)
    change, low, high = (one * span for one in (slope, *ends))
    if abs(change) <= LEAST or nearest(low, high) == 0:
        return None
    lasting = line_p(series.values)
    if lasting >= LASTING:
        return None
    step = level_shift(series.values, ALPHA)
    if step is not None and is_rather_a_step(series, step.place):
        return None
    verb = "rose" if change > 0 else "fell"
    return series.claim(
        size=nearest(low, high),
        sentence=(
            f"{workload}: values {verb} over the session, by {ratio(change, low, high)} from the "
            f"first trial to the last ({interval(low, high)}, {count_of(series.blocks, 'block')}, "
            f"{count_of(series.trials, 'trial')}); all systems are affected alike"
        ),
        evidence=(
            f"Spearman of the mean distance of a block from what is typical of the systems with "
            f"its place in the order, {spearman:+.2f}, {p_text(p)} by permutation of "
            f"blocks; a line against an autoregression {p_text(lasting)}; Theil–Sen slope with its "
            "interval"
        ),
    )


DRIFT: Final = Statement(
    name="drift",
    shown="further finding",
    says="WORKLOAD: values rose | fell over the session, by … from the first trial to the last",
    test=(
        "Spearman of a block's mean residual from the systems' medians with its place in the "
        "order, by permutation of blocks; printed with the Theil–Sen slope where that makes more "
        "than "
        "1 %, and a line fits better than a step, and better than an autoregression by more than "
        "by chance in one of any correlation"
    ),
    min_blocks=12,
    correction="family",
    make=_drift_tests,
)


def _autocorrelation_tests(scene: Scene) -> Iterator[Result]:
    series = series_of(scene).condensed
    if series.is_long(AUTOCORRELATION.min_blocks):
        p = permutation_p(lag_one, series.values, seed=scene.plan.seed)
        yield Result(p, _autocorrelation_claim(scene.display, series, p) if p < ALPHA else None)


def _autocorrelation_claim(workload: str, series: Series, p: float) -> Candidate | None:
    from scipy.special import ndtri

    found = float(lag_one(series.values[None, :])[0])
    # Fisher's transformation, with n − 1 pairs of neighbours.
    reach = float(-ndtri(ALPHA / 2)) / math.sqrt(len(series.values) - 4)
    low, high = (math.tanh(math.atanh(found) + sign * reach) for sign in (-1, 1))
    if low <= 0:
        return None
    return series.claim(
        size=low * float(series.values.std()),
        sentence=(
            f"{workload}: consecutive trials are correlated: lag-1 autocorrelation "
            f"{found:.2f} (99 % CI {low:.2f} to {high:.2f}, {count_of(series.blocks, 'block')}, "
            f"{count_of(series.trials, 'trial')}); most disturbances last longer than one trial"
        ),
        evidence=(
            f"permutation of the lag-1 autocorrelation of the distances from what is typical of "
            f"the system, {p_text(p)}; interval by Fisher's transformation"
        ),
    )


AUTOCORRELATION: Final = Statement(
    name="autocorrelation",
    shown="further finding",
    says="WORKLOAD: consecutive trials are correlated: lag-1 autocorrelation …",
    test="permutation of the lag-1 autocorrelation of residuals; printed where no drift or step is",
    min_blocks=7,
    correction="family",
    make=_autocorrelation_tests,
)


SCORE: Final = 5.0
"""Modified z-score below which no trial is odd."""
UNUSUAL: Final = 0.02
"""A share of the trial's time, above that of the others, that may explain it."""


def _outlier_tests(scene: Scene) -> Iterator[Result]:
    found = max_outlier(scene.relative, OUTLIER.min_blocks)
    if found is not None:
        yield Result(found.p, _outlier_claim(scene, found) if found.score > SCORE else None)


def _outlier_claim(scene: Scene, found: Outlier) -> Candidate:
    measured = scene.measured
    system, block = measured.systems[found.column], measured.blocks[found.row]
    own = scene.relative[:, found.column]
    others = np.delete(own, found.row)
    others = others[np.isfinite(others)]
    low, high = float(others.min()), float(others.max())
    trials = [trial for trial in measured.done if trial.key.system == system]
    odd = next(trial for trial in trials if trial.key.block == block)
    return Candidate(
        subject=("outlier",),
        place="",
        metric=None,
        systems=(system,),
        blocks=found.n,
        size=max(low - found.distance, found.distance - high, 0.0),
        sentence=(
            f"{scene.display}: the trial of {system} in block {block} is an outlier, "
            f"{math.exp(found.distance):.2f}× of the typical value; the others are within "
            f"{math.exp(low):.2f}× and {math.exp(high):.2f}× ({count_of(found.n, 'block')}); "
            f"{_telemetry(odd, trials)}"
        ),
        evidence=(
            f"modified z-score {found.score:.0f}; {p_text(found.p)} that any trial is so far out "
            "in noise with the tails of Student's t of 3 degrees of freedom; it is kept"
        ),
    )


def _telemetry(odd: TrialRecord, trials: Sequence[TrialRecord]) -> str:
    """What was unusual about it, beside the others of its system."""
    shares = {
        "other processes": (foreign_share(odd), [foreign_share(trial) for trial in trials]),
        "the hypervisor": (steal_share(odd), [steal_share(trial) for trial in trials]),
    }
    reasons = [
        f"{who} took {100 * own:.0f} % of a CPU meanwhile (typical {100 * typical:.1f} %)"
        for who, (own, all_shares) in shares.items()
        if own is not None
        and own - (typical := median(share or 0.0 for share in all_shares)) > UNUSUAL
    ]
    return " and ".join(reasons) if reasons else "its telemetry does not explain it"


OUTLIER: Final = Statement(
    name="outlier",
    shown="further finding",
    says="WORKLOAD: the trial of SYSTEM in block … is an outlier, …× of the typical value",
    test=(
        "modified z-score above 5, and too far out for Student's t of 3 degrees of freedom, "
        "Bonferroni over all trials of the workload"
    ),
    min_blocks=10,
    correction="family",
    make=_outlier_tests,
)
