"""How many blocks for the precision asked, and what precision a time buys: foreseen, not found."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from tiltyard.analysis.cell_times import ShortCells, short_cells
from tiltyard.analysis.quantity import rounding_of
from tiltyard.frozen import Frozen
from tiltyard.plan.model import Plan, PlannedWorkload
from tiltyard.plan.pilot import CellTime, PilotWorkload
from tiltyard.stats.planning import (
    Expected,
    blocks_for_half_width,
    blocks_to_find,
    deviation_interval,
    expected_looks,
)
from tiltyard.stats.replication import VarianceComponents
from tiltyard.stats.types import FloatArray


class Basis(Frozen, allow_inf_nan=True):
    """What is known of one workload before the study."""

    values: dict[str, tuple[tuple[float, ...], ...]]
    """System → blocks → trials: ln of the mean over headline cells; nan where a trial failed."""
    own: tuple[float, float] | None
    """Variance of a trial in its turn, and of a turn; ``None`` where each turn had one trial."""
    turn_s: float
    """What a turn takes beside its trials, shared among the workloads."""
    trial_s: float
    cells: tuple[CellTime, ...] = ()
    """How long the cells of the headline are measured, where that is known."""


def basis_of(
    values: FloatArray,
    systems: Sequence[str],
    components: VarianceComponents | None,
    turn_s: float,
    trial_s: float,
    cells: Sequence[CellTime] = (),
) -> Basis:
    """What an earlier run tells of a workload.

    Args:
        values: shape (systems, blocks, trials).
        systems: names, in that order.
        components: of the values.
        turn_s: what a turn takes beside its trials, shared among the workloads.
        trial_s: what a trial takes.
        cells: how long its cells are measured.
    """
    return Basis(
        values={
            name: tuple(tuple(float(value) for value in row) for row in own)
            for name, own in zip(systems, values, strict=True)
        },
        own=None if components is None else (components.own[0], components.own[1]),
        turn_s=turn_s,
        trial_s=trial_s,
        cells=tuple(cells),
    )


def basis_of_pilot(found: PilotWorkload) -> Basis:
    """What a pilot tells of a workload."""
    own = None
    if found.cv_trials is not None and found.cv_blocks is not None:
        own = (found.cv_trials**2, found.cv_blocks**2)
    return Basis(
        values={
            name: tuple(tuple(math.nan if v is None else v for v in row) for row in rows)
            for name, rows in found.values.items()
        },
        own=own,
        turn_s=found.turn_s,
        trial_s=found.trial_s,
        cells=found.cells,
    )


def turns_of(found: Basis, system: str, trials: int) -> FloatArray:
    """A system's values of each block as they would vary with so many trials in a turn."""
    values = np.array(found.values[system], dtype=np.float64)
    means: FloatArray = values.mean(axis=1)
    measured = values.shape[1]
    if found.own is None or trials == measured:
        return means
    of_trial, of_turn = found.own
    before, after = (of_turn + of_trial / count for count in (measured, trials))
    if before == 0:
        return means
    centre = np.nanmean(means) if np.isfinite(means).any() else 0.0
    scaled: FloatArray = centre + (means - centre) * math.sqrt(after / before)
    return scaled


HEADLINE_LEVEL: Final = 0.05
"""Chance of any false claim among the comparisons that are foreseen (Holm)."""
LEAST_BLOCKS: Final = 3
"""Fewer blocks know nothing of their own noise."""


class LookForecast(Frozen):
    """What one look is expected to show."""

    blocks: int
    elapsed_s: float
    """From the start of the study, if nothing stops before."""
    half_width: float | None
    """Of the simultaneous interval of the ratio, as a fraction; median. ``None``: too few blocks
    for so many comparisons."""
    difference: float | None
    """The smallest difference found by then with the power asked for; ``None``: with so many
    comparisons nothing can be claimed yet."""
    decided: float
    """Chance of a decision by then, from all that the data leave open: difference and noise."""


class PairForecast(Frozen):
    """One comparison of the headline of a workload."""

    workload: str
    system: str
    against: str
    cv: float
    """Of a block's value of one system."""
    correlation: float
    """Of the values of the two within a block."""
    deviation: float
    """Of a block's log ratio."""
    deviation_low: float
    """95 % interval of it: few blocks know their own noise badly."""
    deviation_high: float
    looks: tuple[LookForecast, ...]
    blocks_within: int | None
    """Blocks until the interval is expected to be as narrow as asked: a look of the design, or
    more than its last one. ``None``: no look has an interval for so many comparisons."""
    elapsed_within_s: float | None
    blocks_to_find: int
    """Blocks that find a difference of that size with the power asked for (normal formula)."""


class Budget(Frozen):
    """What a time buys."""

    budget_s: float
    blocks: int
    """That fit, no more than the design has."""
    look: int | None
    """The last look that fits; ``None`` if none does."""
    differences: dict[str, float | None]
    """Workload → the smallest difference that is found there in any comparison with the power
    asked for; ``None``: none is."""


class Forecast(Frozen):
    """All that can be foreseen of a study."""

    source: str
    """The data that it rests on, in words."""
    blocks: int
    """Of that data."""
    within: float
    power: float
    block_s: float
    """What a block takes."""
    family: int
    """Comparisons of headlines that are corrected together."""
    earliest: int | None
    """Blocks at the first look that can claim a difference in any case; ``None``: no look can."""
    titles: dict[str, str]
    """Workload → what people read."""
    trials: dict[str, int]
    """Workload → trials in a turn."""
    warm_up_s: dict[str, float]
    pairs: tuple[PairForecast, ...]
    budget: Budget | None
    short_cells: tuple[ShortCells, ...] = ()
    """Workloads whose cells take too little time, and what to write for longer ones."""
    longer_block_s: float
    """About what a block would take with that."""


@dataclass(frozen=True)
class Asked:
    """What a person wants to know."""

    within: float
    """Half-width of the interval of a ratio, as a fraction."""
    power: float
    """Chance to find a difference."""
    budget_s: float | None = None
    """A time, to say what it buys."""


@dataclass(frozen=True)
class _Terms:
    """What all comparisons of a study have in common."""

    plan: Plan
    asked: Asked
    block_s: float

    @property
    def family(self) -> int:
        """Comparisons of headlines, of all workloads together."""
        return len(self.plan.workloads) * math.comb(len(self.plan.systems), 2)


def forecast(
    plan: Plan,
    known: Mapping[str, Basis],
    source: str,
    asked: Asked,
    schemas: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Forecast:
    """What a plan is expected to show, from a pilot or an earlier run.

    Args:
        plan: of the study.
        known: workload → what is known of it; workloads without it are left out.
        source: says where that is from.
        asked: which precision, which chance, which time.
        schemas: name in the catalogue → schema of the parameters, which says what is an amount.

    Raises:
        ValueError: if no workload has three blocks in which two systems have a value.
    """
    workloads = [workload for workload in plan.workloads if workload.spec.name in known]
    terms = _Terms(plan, asked, _block_s(plan, known))
    pairs = [
        pair
        for workload in workloads
        for pair in _pairs(terms, workload, known[workload.spec.name])
    ]
    if not pairs:
        raise ValueError(f"no workload has {LEAST_BLOCKS} blocks that can be compared")
    short = [
        found
        for workload in workloads
        if workload.spec.use in schemas
        and (
            found := short_cells(
                workload,
                known[workload.spec.name].cells,
                schemas[workload.spec.use],
                known[workload.spec.name].trial_s,
            )
        )
    ]
    more_s = sum(
        plan.workload(own.workload).trials * (own.longer_trial_s - own.trial_s) for own in short
    )
    claiming = [look.blocks for look in pairs[0].looks if look.difference is not None]
    return Forecast(
        source=source,
        blocks=max(len(rows) for found in known.values() for rows in found.values.values()),
        within=asked.within,
        power=asked.power,
        block_s=terms.block_s,
        family=terms.family,
        earliest=claiming[0] if claiming else None,
        titles=plan.titles,
        trials={workload.spec.name: workload.spec.trials or 1 for workload in workloads},
        warm_up_s={workload.spec.name: workload.warm_up_s for workload in workloads},
        pairs=tuple(pairs),
        budget=None if asked.budget_s is None else _budget(pairs, asked.budget_s, terms.block_s),
        short_cells=tuple(short),
        longer_block_s=terms.block_s + len(plan.systems) * more_s,
    )


def _block_s(plan: Plan, known: Mapping[str, Basis]) -> float:
    """What a block takes in which every system meets every workload."""
    return len(plan.systems) * sum(
        found.turn_s + plan.workload(name).trials * found.trial_s for name, found in known.items()
    )


def _pairs(terms: _Terms, workload: PlannedWorkload, found: Basis) -> Iterator[PairForecast]:
    """Every pair of systems in one workload, as (later, earlier) in the order of the study."""
    trials = workload.spec.trials or 1
    names = [system.name for system in terms.plan.systems]
    for earlier, later in combinations(names, 2):
        both = np.stack([turns_of(found, name, trials) for name in (later, earlier)])
        both = both[:, np.isfinite(both).all(axis=0)]
        if both.shape[1] >= LEAST_BLOCKS:
            yield _pair(terms, workload, later, earlier, both)


def _pair(
    terms: _Terms, workload: PlannedWorkload, system: str, against: str, values: FloatArray
) -> PairForecast:
    """One comparison, from values of shape (2, blocks) on the log scale."""
    plan, asked = terms.plan, terms.asked
    differences = values[0] - values[1]
    looks = expected_looks(
        differences,
        plan.design.spending,
        rope=math.log1p(plan.design.equivalent_within),
        level=HEADLINE_LEVEL / terms.family,
        power=asked.power,
        seed=plan.seed,
        rounding=fmean(
            rounding_of(workload, metric)
            for metric in workload.metrics
            if metric.role == "headline"
        ),
    )
    deviation = float(differences.std(ddof=1))
    low, high = deviation_interval(deviation, len(differences))
    variance = float(values.var(axis=1, ddof=1).mean())
    needed = _blocks_within(looks, math.log1p(asked.within))
    return PairForecast(
        workload=workload.spec.name,
        system=system,
        against=against,
        cv=math.sqrt(variance),
        correlation=1 - deviation**2 / (2 * variance) if variance else 0.0,
        deviation=deviation,
        deviation_low=low,
        deviation_high=high,
        looks=tuple(_look(one, terms.block_s) for one in looks),
        blocks_within=needed,
        elapsed_within_s=None if needed is None else needed * terms.block_s,
        blocks_to_find=blocks_to_find(deviation, asked.within, asked.power),
    )


def _look(expected: Expected, block_s: float) -> LookForecast:
    """On the scale of fractions, with its time."""
    return LookForecast(
        blocks=expected.blocks,
        elapsed_s=expected.blocks * block_s,
        half_width=None if expected.half_width is None else math.expm1(expected.half_width),
        difference=None if expected.difference is None else math.expm1(expected.difference),
        decided=expected.decided,
    )


def _blocks_within(looks: Sequence[Expected], target: float) -> int | None:
    """The first look that is narrow enough, else blocks beyond the last one."""
    for look in looks:
        if look.half_width is not None and look.half_width <= target:
            return look.blocks
    last = looks[-1]
    if last.half_width is None:
        return None
    return blocks_for_half_width(last.blocks, last.half_width, target)


def _budget(pairs: Sequence[PairForecast], budget_s: float, block_s: float) -> Budget:
    """What fits, and what the last look of it shows in the comparison that is worst off."""
    blocks = min(int(budget_s // block_s), pairs[0].looks[-1].blocks)
    fitting = [place for place, look in enumerate(pairs[0].looks) if look.blocks <= blocks]
    differences: dict[str, float | None] = {}
    for pair in pairs if fitting else ():
        found = pair.looks[fitting[-1]].difference
        worst = differences.get(pair.workload, 0.0)
        if found is None or worst is None:
            differences[pair.workload] = None
        else:
            differences[pair.workload] = max(found, worst)
    return Budget(
        budget_s=budget_s,
        blocks=blocks,
        look=pairs[0].looks[fitting[-1]].blocks if fitting else None,
        differences=differences,
    )
