"""Disturbed blocks: how many, why, of which systems, and the verdicts with them included.

Where more than a fifth of a session is disturbed there is no verdict: such a session says more
about the disturbances than about the systems.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast, Judged, NoVerdict
from tiltyard.analysis.disturbed_model import RELATED_LEVEL, DisturbedBlocks, SensitivityLine
from tiltyard.analysis.statements.numbers import compatible
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import MAX_DISTURBED_SHARE
from tiltyard.run.progress import PlanProgress
from tiltyard.run.record import Reason, RunRecord
from tiltyard.stats.types import FloatArray, IntArray
from tiltyard.units import agreeing, count_of, part_of

_RESAMPLES: Final = 9_999
_ROUNDING: Final = 1e-7
"""Log probabilities that differ by less are equal."""
_SIGNALS: Final = {
    "foreign_cpu": "CPU time of other processes",
    "foreign_io": "disk traffic of others",
    "pressure": "others waiting",
    "steal": "the hypervisor",
    "frequency": "CPU frequency",
    "temperature_k": "temperature",
    "reference_run": "the reference run",
    "swap": "swapping",
    "throttled": "throttling for heat",
    "quota": "a quota of CPU time",
    "clock": "the clock",
    "kernel": "errors of the kernel",
}

Headlines = Callable[[RunRecord], Mapping[str, Judged]]
"""Judges a record: workload → its index; without those of which nothing is done."""


def too_many_disturbed(run: RunRecord, course: PlanProgress) -> NoVerdict | None:
    """Whether so many blocks were replaced that nothing can be claimed.

    Shares mean something from the first look on, or once there are no spares left. A run that goes
    on may still come below the limit, as long as it has some.

    Args:
        run: everything, replaced blocks included.
        course: of it.
    """
    plan = course.plan
    if plan.noise_limits is None or plan.noise_limits.disturbed != "replace":
        return None
    disturbed, counted = len(course.replaced), len(course.counted)
    blocks = disturbed + counted
    exhausted = disturbed > len(plan.spares)
    too_few = blocks < plan.design.looks[0].blocks and not exhausted
    if too_few or disturbed <= MAX_DISTURBED_SHARE * blocks:
        return None
    final = exhausted or run.stopped is not None
    share = f"{100 * MAX_DISTURBED_SHARE:g} %"
    reason = f"{part_of(disturbed, blocks, 'block')} disturbed, more than {share}"
    return NoVerdict("invalid" if final else "undecided", reason)


def suppress_verdicts(
    judged: Sequence[JudgedWorkload], withheld: NoVerdict
) -> list[JudgedWorkload]:
    """The same without verdicts."""

    def without_verdicts(found: Judged) -> Judged:
        return replace(found, contrasts=found.contrasts.without_verdicts(withheld))

    return [one.map(without_verdicts) for one in judged]


def disturbed_blocks(
    run: RunRecord, course: PlanProgress, headlines: Headlines
) -> DisturbedBlocks | None:
    """Everything to be said of disturbed blocks; ``None`` where there is none.

    Args:
        run: everything, replaced blocks included.
        course: of it.
        headlines: judges the headline comparisons of any record.
    """
    if not run.disturbed:
        return None
    numbers = tuple(sorted(run.disturbed))
    blocks = len(course.replaced | set(course.counted))
    by_system = {
        system.name: sum(
            any(reason.system == system.name for reason in found)
            for found in run.disturbed.values()
        )
        for system in course.plan.systems
    }
    related_p = _related_p(list(by_system.values()), blocks)
    kept = tuple(trial for trial in run.trials if trial.key.block not in run.disturbed)
    sensitivity = _sensitivity(headlines(run.model_copy(update={"trials": kept})), headlines(run))
    return DisturbedBlocks(
        blocks=numbers,
        share=len(numbers) / blocks,
        reasons={number: _worst(run.disturbed[number]) for number in numbers},
        by_system=by_system,
        related_p=related_p,
        sensitivity=sensitivity,
        sentence=" ".join(
            filter(
                None,
                (
                    _counted(run.disturbed, blocks, len(course.replaced)),
                    _related(by_system, related_p),
                    _changed(sensitivity, counted=not course.replaced),
                ),
            )
        ),
    )


def _related_p(disturbing: Sequence[int], blocks: int) -> float | None:
    """Fisher's exact test of disturbed turns against systems, each with one turn in every block.

    The p-value is the share of tables with these totals that are no likelier than the one that
    was found; for more than two systems the tables are drawn (seeded). SciPy has the test in
    ``scipy.stats``, whose import takes longer than the page of a small study.

    Source: Fisher, "Statistical Methods for Research Workers" (1934); Freeman and Halton,
    Biometrika 38 (1951), for more than two rows.
    """
    from scipy.special import gammaln

    if len(disturbing) < 2 or not any(disturbing):
        return None

    def chance(tables: IntArray) -> FloatArray:
        """Log probabilities, up to a constant."""
        found: FloatArray = -(gammaln(tables + 1) + gammaln(blocks - tables + 1)).sum(axis=-1)
        return found

    total = sum(disturbing)
    limit = chance(np.array(disturbing)) + _ROUNDING
    if len(disturbing) == 2:
        first = np.arange(max(0, total - blocks), min(total, blocks) + 1)
        all_ = chance(np.stack((first, total - first), axis=-1))
        weights = np.exp(all_ - all_.max())
        return float(weights[all_ <= limit].sum() / weights.sum())
    draws = np.random.default_rng(0)
    drawn = draws.multivariate_hypergeometric([blocks] * len(disturbing), total, size=_RESAMPLES)
    return float((1 + (chance(drawn) <= limit).sum()) / (1 + _RESAMPLES))


def _worst(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """One text for each signal: that of the trial which is furthest beyond the limit."""
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        found.setdefault(reason.signal, []).append(reason)
    texts = []
    for alike in found.values():
        worst = max(alike, key=lambda reason: reason.value - reason.limit)
        others = len(alike) - 1
        more = f", and in {others} more" if others else ""
        texts.append(worst.text + more)
    return tuple(texts)


def _sensitivity(
    without: Mapping[str, Judged], put_back: Mapping[str, Judged]
) -> tuple[SensitivityLine, ...]:
    """Each headline comparison both ways; a workload that was only in disturbed blocks has none."""
    return tuple(
        SensitivityLine(
            label=f"{one.system} against {one.against}, {one.quantity.topic}",
            without=_short(one),
            with_disturbed=_short(other),
            changed=one.verdict != other.verdict and not _is_left_too_little(one, other),
            too_few=_is_left_too_little(one, other),
        )
        for workload, judged in without.items()
        for one, other in zip(judged.contrasts, put_back[workload].contrasts, strict=True)
    )


def _is_left_too_little(without: Contrast, with_them: Contrast) -> bool:
    return without.interval is None and with_them.interval is not None


def _short(contrast: Contrast) -> str:
    """``faster: +8.1 to +15 % after 10 blocks``."""
    interval, unit = contrast.interval, contrast.quantity.unit_of_replication
    if interval is None:
        return f"{contrast.verdict}: too few {unit}s"
    low, high = float(np.exp(interval.low)), float(np.exp(interval.high))
    possible = compatible(low, high, contrast.verdict)
    return f"{contrast.verdict}: {possible} after {count_of(interval.blocks, unit)}"


def _counted(disturbed: Mapping[int, Sequence[Reason]], blocks: int, replaced: int) -> str:
    """How many, what became of them, and what disturbed them."""
    counts = Counter(
        signal
        for reasons in disturbed.values()
        for signal in dict.fromkeys(reason.signal for reason in reasons)
    )
    listed = ", ".join(f"{_SIGNALS[signal]} ({count})" for signal, count in counts.most_common())
    share = (
        f"{len(disturbed)} of {count_of(blocks, 'block')} ({100 * len(disturbed) / blocks:.0f} %)"
    )
    fate = "kept and replaced by others" if replaced else "counted all the same"
    if 0 < replaced < len(disturbed):
        fate = f"{replaced} kept and replaced, {len(disturbed) - replaced} counted all the same"
    return f"{share} {agreeing(len(disturbed), 'is', 'are')} disturbed, {fate}. Causes: {listed}."


def _related(by_system: Mapping[str, int], p: float | None) -> str:
    """On whom they fell; a turn may be disturbed on several sides of a block."""
    counts = on_each(by_system)
    if p is None or not counts:
        return ""
    if p >= RELATED_LEVEL:
        return f"Turns disturbed: {counts}."
    return (
        f"Turns disturbed: {counts}; that is related to the system (Fisher's exact test, p = "
        f"{p:.2g}): treat it as a result, not as noise."
    )


def on_each(counts: Mapping[str, int]) -> str:
    """``3 of 4 on ext4, 1 of 4 on xfs``; systems without any are left out."""
    total = sum(counts.values())
    found = sorted(counts.items(), key=lambda one: -one[1])
    return ", ".join(f"{count} of {total} on {system}" for system, count in found if count)


def _changed(lines: Sequence[SensitivityLine], *, counted: bool) -> str:
    if not lines:
        return ""
    changed = sum(line.changed for line in lines)
    few = sum(line.too_few for line in lines)
    left = len(lines) - few
    other = "Without" if counted else "With"
    if few:
        verdicts = count_of(len(lines), "headline verdict")
        text = f"Too few undisturbed blocks are left to repeat {few} of {verdicts}"
        if not left:
            return f"{text}."
        same = f"{other.lower()} them, {changed} would change" if changed else "are the same"
        return f"{text}; of the other {left}, {same}." if changed else f"{text}; the others {same}."
    if not changed:
        return "With or without them, every headline verdict is the same."
    return f"{other} them, {changed} of {len(lines)} headline verdicts would change."
