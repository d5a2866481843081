"""The gate: how often suites of equal programs pass and fail it, and one that is at the margin.

The design is the standard profile, for a suite of its size. Failed trials are those of one side,
whatever they would have measured.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.contrast import MAX_FAILED_SHARE
from tiltyard.stats.looks import FIXED, LEVEL, TABULATED, looks
from tiltyard.stats.margin import (
    BEYOND,
    UNDECIDED,
    against_margin,
    blocks_to_answer,
    level_of,
)
from tiltyard.stats.sequential import Spending, profile_of_family
from tiltyard.stats.types import BoolArray, FloatArray

WITHIN: Final = 0.03
"""The margin."""
SIZES: Final = (1, 5, 20, 100)
"""Headlines of a suite."""
NOISES: Final = (0.01, 0.02, 0.03)
"""Of the value of a block."""
FLAKES: Final = (0.001, 0.01, 0.05)
"""Shares of trials that fail."""
FLAKY: Final = (20, 0.01)
"""Headlines and noise of the suites in which trials fail."""
FORESEEN: Final = (1, 5, 20)
"""Headlines of the suites whose forecast is held against what then happens."""
_FARTHEST: Final = 1000
"""Blocks beyond which no forecast is made."""


@dataclass(frozen=True)
class GateRates:
    """Suites of one size at one noise; shares of suites."""

    size: int
    noise: float
    suites: int
    passed: float
    """All programs equal."""
    failed: float
    """All programs equal: a regression."""
    passed_at: float
    """One headline is worse by exactly the margin."""
    failed_at: float
    """The same: a regression."""
    found: float
    """One headline is worse by twice the margin: a regression."""


@dataclass(frozen=True)
class FlakeRates:
    """One share of failed trials; shares of suites of equal programs."""

    flakes: float
    any_failed: float
    """At least one trial failed."""
    passed: float
    invalid: float


@dataclass(frozen=True)
class GateForecast:
    """Where the gate said that a new study of so many blocks would decide."""

    size: int
    said: int
    """How often it was said."""
    came_true: float
    """Share of new studies of so many blocks that decided all that was undecided."""


@dataclass(frozen=True)
class Gates:
    """All of it."""

    suites: tuple[GateRates, ...]
    flaky: tuple[FlakeRates, ...]
    forecasts: tuple[GateForecast, ...]


def gate_rates(
    size: int, noise: float, suites: int, rng: np.random.Generator, profile: str = "standard"
) -> GateRates:
    """Suites of one size at one noise, at the looks of a profile."""
    rows = _drawn(size, noise, suites, rng, profile)
    margin = float(np.log1p(WITHIN))
    ends = []
    for effect in (0.0, margin, 2 * margin):
        moved = rows.copy()
        moved[:, 0] += effect
        ends.append(_ended(moved, profile))
    (passed, failed), (passed_at, failed_at), (_, found) = ends
    return GateRates(size, noise, suites, passed, failed, passed_at, failed_at, found)


def flake_rates(flakes: float, suites: int, rng: np.random.Generator) -> FlakeRates:
    """Suites of equal programs, of whose trials some fail."""
    rows = _drawn(*FLAKY, suites, rng)
    lost = rng.random((2, *rows.shape)) < flakes
    failed = lost.any(axis=0)
    invalid = (failed.sum(axis=2) > MAX_FAILED_SHARE * rows.shape[2]).any(axis=1)
    passed, _ = _outcomes(np.where(failed, np.nan, rows))
    return FlakeRates(
        flakes,
        float(lost.any(axis=(0, 2, 3)).mean()),
        float((passed & ~invalid).mean()),
        float(invalid.mean()),
    )


def gate_forecast(size: int, suites: int, rng: np.random.Generator) -> GateForecast:
    """Suites of which one headline is off by up to twice the margin, at noises up to 5 %."""
    margin, level, came_true = float(np.log1p(WITHIN)), level_of(size), list[bool]()
    blocks = _spending(size).looks[-1][0]
    for _ in range(suites):
        truths = np.zeros((size, 1))
        truths[0] = rng.uniform(-2 * margin, 2 * margin)
        noise = np.exp(rng.uniform(np.log(0.01), np.log(0.05))) * np.sqrt(2)
        first = rng.normal(truths, noise, (size, blocks))
        found = against_margin(first, _spending(size), margin, level, ended=True)
        is_open = found.outcome == UNDECIDED
        total = blocks_to_answer(found.of(is_open), _spending(size), margin, level)
        if total and total <= _FARTHEST:
            again = rng.normal(truths[is_open], noise, (int(is_open.sum()), total))
            once = Spending(FIXED, False, looks(FIXED, False, total))
            ended = against_margin(again, once, margin, level, ended=True)
            came_true.append(bool((ended.outcome != UNDECIDED).all()))
    return GateForecast(size, len(came_true), float(np.mean(came_true)) if came_true else np.nan)


def _drawn(
    size: int, noise: float, suites: int, rng: np.random.Generator, profile: str = "standard"
) -> FloatArray:
    """Differences of equal programs, shape (suites, size, blocks)."""
    blocks = _spending(size, profile).looks[-1][0]
    return rng.normal(0, noise * np.sqrt(2), (suites, size, blocks))


def _spending(size: int, profile: str = "standard") -> Spending:
    name = profile_of_family(profile, False, size)
    return Spending(name, False, TABULATED[name])


def _outcomes(rows: FloatArray, profile: str = "standard") -> tuple[BoolArray, BoolArray]:
    """Which suites pass, and which fail."""
    suites, size, blocks = rows.shape
    # Those that there are stand first, as the gate takes them.
    order = np.argsort(np.isnan(rows), axis=2, kind="stable")
    flat = np.take_along_axis(rows, order, axis=2).reshape(-1, blocks)
    found = against_margin(
        flat, _spending(size, profile), float(np.log1p(WITHIN)), level_of(size), ended=True
    )
    outcome = found.outcome.reshape(suites, size)
    failed: BoolArray = (outcome == BEYOND).any(axis=1)
    passed: BoolArray = ~failed & (outcome != UNDECIDED).all(axis=1)
    return passed, failed


def _ended(rows: FloatArray, profile: str) -> tuple[float, float]:
    passed, failed = _outcomes(rows, profile)
    return float(passed.mean()), float(failed.mean())


def _simulate(paths: int, seed: int) -> Gates:
    """A suite is many comparisons: there are fewer of them."""
    kinds = [(size, noise) for size in SIZES for noise in NOISES]
    streams = [
        np.random.default_rng(one)
        for one in np.random.SeedSequence(seed).spawn(len(kinds) + len(FLAKES) + len(FORESEEN))
    ]
    return Gates(
        tuple(
            gate_rates(size, noise, max(1, paths // min(size, 20)), rng)
            for (size, noise), rng in zip(kinds, streams, strict=False)
        ),
        tuple(
            flake_rates(flakes, max(1, paths // 20), rng)
            for flakes, rng in zip(FLAKES, streams[len(kinds) :], strict=False)
        ),
        tuple(
            gate_forecast(size, max(20, paths // 50), rng)
            for size, rng in zip(FORESEEN, streams[len(kinds) + len(FLAKES) :], strict=True)
        ),
    )


def _lines(found: Gates) -> list[Line]:
    every = found.suites
    error = 2 * float(np.sqrt(LEVEL / 2 * (1 - LEVEL / 2) / min(one.suites for one in every)))
    bound = f"{percent(LEVEL / 2)} ± {percent(error)} %"
    return [
        Line("gate: suites of equal programs that fail", "0.6 %",
             span(one.failed for one in every)),
        Line("gate: suites with one headline at the margin that pass", bound,
             span(one.passed_at for one in every)),
        Line("gate: the same that fail", bound, span(one.failed_at for one in every)),
        Line('gate: "a new study of so many blocks decides in 80 % of cases", and it did',
             "75–95 %", span(one.came_true for one in found.forecasts)),
    ]  # fmt: skip


def _told(found: Gates) -> str:
    head = ("headlines", "noise, %", "suites", "equal: pass, %", "fail, %",
            "one at the margin: pass, %", "fail, %",
            "one at twice the margin: fail, %")  # fmt: skip
    rows = [
        (
            f"{one.size}",
            percent(one.noise, 0),
            f"{one.suites}",
            *(percent(own) for own in (one.passed, one.failed, one.passed_at, one.failed_at)),
            percent(one.found, 0),
        )
        for one in found.suites
    ]
    of_flakes = [
        (f"{percent(one.flakes)} %", percent(one.any_failed, 0), percent(one.passed, 0),
         percent(one.invalid))
        for one in found.flaky
    ]  # fmt: skip
    foreseen = [
        (f"{one.size}", f"{one.said}", percent(one.came_true, 0)) for one in found.forecasts
    ]
    size, noise = FLAKY
    return f"""
## The gate

`tiltyard gate --within {percent(WITHIN, 0)}%`, standard profile, normal noise of a block's value.
A suite passes if each of its headlines does, by its own interval, and fails by any one, by
intervals that hold together:

{table(head, rows)}

Trials that fail, in suites of {size} equal programs at a noise of {percent(noise, 0)} %.
A headline that lost more than {percent(MAX_FAILED_SHARE, 0)} % of its blocks is invalid;
no block is made up for:

{table(("trials that fail", "suites with any, %", "pass, %", "invalid, %"), of_flakes)}

Where a suite is undecided, a new study of so many blocks is said to decide it in 80 % of cases. One
headline is off by anything up to twice the margin, at a noise of 1 to 5 %, the others are equal:

{table(("headlines", "said", "it did, %"), foreseen)}
"""


SECTION: Final = Section("gate", _simulate, _told, _lines)
