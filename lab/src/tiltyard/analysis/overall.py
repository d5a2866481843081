"""All tests of a study as one: the geometric mean over them, judged as any other quantity.

A test is a metric of a workload, however many cells it has; times are turned into speeds. A block
yields one number, so that whatever tests share within it is contained and needs no assumption. It
is a family by itself (Holm), beside those of the workloads and of the cells.
"""

from collections.abc import Sequence

import numpy as np

from tiltyard.analysis.judging import judge
from tiltyard.analysis.model import Comparison
from tiltyard.analysis.quantity import Quantity, mean_quantity
from tiltyard.analysis.statements.family import HOLM, Family
from tiltyard.analysis.tables import ComparisonBuilder
from tiltyard.analysis.workload import Quantities, cells_by_metric
from tiltyard.plan.model import Plan
from tiltyard.stats.multiple import holm
from tiltyard.units import count_of


def overall(
    plan: Plan, quantities: Sequence[Quantities], level: float, to_come: int
) -> tuple[Comparison, ...]:
    """Every pair of systems, against the baseline where that is one of the two; of one test none.

    Args:
        plan: the rules, the systems, the baseline.
        quantities: what is compared of each workload.
        level: chance of any false claim among them.
        to_come: blocks that may still be made.
    """
    tests = [
        mean_quantity(q.measured.workload.spec.name, cells)
        for q in quantities
        for cells in cells_by_metric(q.measured)
    ]
    if len(tests) < 2:
        return ()
    covariates = [np.mean([q.measured.covariates for q in quantities], axis=0)]
    (judged,) = judge(
        [_mean(tests)],
        [system.name for system in plan.systems],
        plan.design,
        holm,
        level,
        together=True,
        to_come=to_come,
        covariates=covariates if plan.design.verdict == "adjusted" else (),
        baseline=plan.baseline,
    )
    family = Family.of(judged.contrasts, HOLM)
    return ComparisonBuilder(plan.design, family).comparisons(judged)


def _mean(tests: Sequence[Quantity]) -> Quantity:
    """One number a trial over all tests, each counted once."""
    signs = [1 if test.direction == "higher" else -1 for test in tests]
    return Quantity(
        topic=f"the geometric mean of {count_of(len(tests), 'test')}",
        unit="",
        direction="higher",
        cells=len(tests),
        log_values=np.mean(
            [sign * test.log_values for sign, test in zip(signs, tests, strict=True)], axis=0
        ),
        attempted=np.all([test.attempted for test in tests], axis=0),
        sessions=tests[0].sessions,
    )
