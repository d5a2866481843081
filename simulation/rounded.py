"""Equal systems whose results were kept as whole numbers: false positives by rounding.

Judged is by the functions that judge real imports; beside them stands a rule that was in use: kept
numbers taken as exact.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Section, percent, table
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.estimators import LEVEL
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    PrintedAs,
    Reading,
)
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import moments, welch

PAIRS: Final = 10
ROUNDED_CELLS: Final = 36
ROUNDED_VALUES: Final[tuple[int, ...]] = (3, 5, PAIRS)
CV: Final = 0.01
APART: Final = math.log(1.04)
"""Of the systems that are not equivalent within 2 %, on the log scale."""
_WHOLE: Final = PrintedAs(unit="/s", factor=1, decimals=0)


@dataclass(frozen=True)
class RoundedRates:
    """Whole numbers from 20 to 50 under a noise of 1 %, in 36 cells."""

    reports: int
    values: int
    paired: bool
    as_exact: float
    """Equal systems: reports with any false claim, were the numbers exact (Welch)."""
    false: float
    """The same by the functions of imports."""
    equivalent: float
    """Systems 4 % apart: cells that are called equivalent within 2 %."""


def rounded_rates(reports: int, seed: int) -> tuple[RoundedRates, ...]:
    """Whole reports of numbers without decimals.

    Args:
        reports: of each kind.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(ROUNDED_VALUES))
    return tuple(
        _rounded(n, n >= PAIRS, reports, np.random.default_rng(stream))
        for n, stream in zip(ROUNDED_VALUES, streams, strict=True)
    )


def _rounded(n: int, blocks: bool, reports: int, rng: np.random.Generator) -> RoundedRates:
    exact = false = equivalent = 0
    for _ in range(reports):
        first, second = _whole_numbers(rng, n, 0.0)
        p_values = welch(moments(np.log(first)), moments(np.log(second))).p
        exact += bool((benjamini_hochberg(p_values) <= LEVEL).any())
        false += any(
            verdict in ("faster", "slower") for verdict in _verdicts(first, second, blocks)
        )
        apart = _verdicts(*_whole_numbers(rng, n, APART), blocks)
        equivalent += sum(one == "equivalent" for one in apart)
    cells = reports * ROUNDED_CELLS
    return RoundedRates(reports, n, blocks, exact / reports, false / reports, equivalent / cells)


def _whole_numbers(rng: np.random.Generator, n: int, apart: float) -> tuple[FloatArray, FloatArray]:
    """Two systems, each of shape (cells, n)."""
    level = rng.uniform(20, 50, (ROUNDED_CELLS, 1))
    noise = rng.normal(0, CV, (2, ROUNDED_CELLS, n))
    noise[1] += apart
    first, second = np.round(level * np.exp(noise))
    return first, second


def _verdicts(first: FloatArray, second: FloatArray, blocks: bool) -> list[str]:
    """Of every cell of a report."""
    names = ("a", "b")
    metric = CollectedMetric(
        name="rate", label="rate", unit="1/s", direction="higher", printed=_WHOLE
    )
    readings = tuple(
        Reading(
            metric="rate",
            system=name,
            at={"cell": cell},
            values=tuple(row),
            blocks=tuple(range(1, len(row) + 1)) if blocks else (),
        )
        for name, side in zip(names, (first, second), strict=True)
        for cell, row in enumerate(side.tolist())
    )
    found = analyse_collection(
        Collection(
            question="Which is faster?",
            origin=Origin(title="A simulation"),
            systems=tuple(CollectedSystem(name=name, levels={"system": name}) for name in names),
            baseline="a",
            workloads=(
                CollectedWorkload(
                    name="w", use="w", grid=("cell",), metrics=(metric,), readings=readings
                ),
            ),
        )
    )
    return [one.comparisons[0].verdict for one in found.workloads[0].cells]


def _simulate(paths: int, seed: int) -> tuple[RoundedRates, ...]:
    """A report has many cells: there are fewer of them than of paths."""
    return rounded_rates(max(1, paths // 200), seed)


def _told(found: tuple[RoundedRates, ...]) -> str:
    head = ("values of each side", "equal: any false claim, %", "were they exact, %",
            "4 % apart: cells called equivalent, %")  # fmt: skip
    rows = [
        (
            f"{one.values}, paired" if one.paired else f"{one.values}",
            percent(one.false),
            percent(one.as_exact, 0),
            percent(one.equivalent),
        )
        for one in found
    ]
    return f"""
Whole numbers from 20 to 50 under a noise of 1 %, in {ROUNDED_CELLS} cells, {found[0].reports}
reports of each kind:

{table(head, rows)}

A kept number stands for all that round to it. Taken as exact, values that agree by rounding look
certain.
"""


SECTION: Final = Section("rounded", _simulate, _told)
