"""Replacing disturbed blocks first and counting them then: no more false claims among equals."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from simulation.failures import _RULES as RULES
from simulation.failures import SPENDING
from support.runs import NOISE_LIMITS
from support.synthetic import synthetic_study
from tiltyard.plan.model import Plan, spares_for
from tiltyard.plan.order import draw_blocks
from tiltyard.run.progress import PlanProgress
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, judge_family
from tiltyard.stats.looks import LEVEL, LOOKS
from tiltyard.stats.types import BoolArray

STUDIES = 2000
BLOCKS = LOOKS["standard"][-1][0]
MADE = BLOCKS + spares_for(BLOCKS)
LOUDER = 4.0
"""Noise of a disturbed block, in that of a quiet one."""


def adapting() -> Plan:
    plan, _ = synthetic_study(blocks=BLOCKS)
    names = [system.name for system in plan.systems]
    drawn = draw_blocks(names, [plan.workloads[0].spec.name], MADE, 1)
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": "adapt"})
    return plan.model_copy(
        update={"blocks": drawn[:BLOCKS], "spares": drawn[BLOCKS:], "noise_limits": noise_limits}
    )


def now_and_then(rng: Generator) -> BoolArray:
    return np.asarray(rng.random((STUDIES, MADE)) < 0.3)


def in_bursts(rng: Generator) -> BoolArray:
    """Somebody else works for a while."""
    begin = rng.integers(0, MADE, (STUDIES, 1))
    place = np.arange(MADE)[None, :]
    return np.asarray((place >= begin) & (place < begin + 9))


def always(_: Generator) -> BoolArray:
    return np.ones((STUDIES, MADE), dtype=bool)


@pytest.mark.parametrize("disturbed", [now_and_then, in_bursts, always])
def test_equal_systems_are_called_different_no_more_often(
    disturbed: Callable[[Generator], BoolArray],
) -> None:
    rng, plan = np.random.default_rng(52), adapting()
    loud = disturbed(rng)
    noise = rng.normal(0, 0.05, loud.shape) * np.where(loud, LOUDER, 1.0)
    counted = np.empty((STUDIES, BLOCKS))
    for study in range(STUDIES):
        numbers = (np.flatnonzero(loud[study]) + 1).tolist()
        replaced = PlanProgress(plan, (), numbers, {}).replaced
        assert len(replaced) <= len(plan.spares)
        counts = [number - 1 for number in range(1, MADE + 1) if number not in replaced]
        counted[study] = noise[study, counts[:BLOCKS]]
    # Each study is a family of one comparison.
    false = sum(
        judge_family(PairedBlocks(SPENDING, row[None, :]), RULES, to_come=0).outcome[0] == DIFFERENT
        for row in counted
    )
    error = np.sqrt(LEVEL * (1 - LEVEL) / STUDIES)
    assert false / STUDIES <= LEVEL + 2.6 * error


def test_a_host_that_is_never_quiet_loses_one_block_before_the_first_look() -> None:
    plan = adapting()
    course = PlanProgress(plan, (), range(1, MADE + 1), {})
    assert sorted(course.replaced)[:1] == [1]
    assert len([number for number in course.replaced if number <= 8]) == spares_for(7) == 1
    assert len(course.replaced) == len(plan.spares) == 5


def test_what_is_kept_is_not_replaced_afterwards() -> None:
    """Blocks that count are never taken back: what a look has seen stays."""
    plan, numbers = adapting(), [2, 3, 5, 8, 9, 13, 14, 21]
    whole = PlanProgress(plan, (), numbers, {}).replaced
    for last in range(MADE):
        sofar = PlanProgress(plan, (), [n for n in numbers if n <= last], {}).replaced
        assert sofar == {n for n in whole if n <= last}
