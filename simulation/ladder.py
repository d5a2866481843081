"""The long ladder beside the standard one: what a hundred cheap blocks find, and what they claim.

Differences are drawn as they are of blocks in random order. Looks, stopping and intervals are those
of real studies; so is the gate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from simulation.designs import Design, bounds_of, outcome
from simulation.gates import GateRates, gate_rates
from simulation.rates import EQUIVALENT_WITHIN
from simulation.section import Line, Section, percent, span, table
from tiltyard.plan.freeze import FURTHER
from tiltyard.stats.looks import LEVEL, LONG, looks
from tiltyard.stats.types import FloatArray

DESIGNS: Final = (Design("standard", bounds_of("standard")), Design(LONG, bounds_of(LONG)))
BLOCKS: Final = looks(LONG, strict=False, blocks=None)[-1][0]
LAWS: Final[dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t3)": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3),
    "two modes": lambda rng, shape: (
        np.where(rng.random(shape) < 0.5, 0.95, -0.95) + rng.normal(0, 0.3, shape)
    ),
}
"""Of a block's difference, with a deviation of 1."""
CASES: Final = ((0.02, 0.03), (0.02, 0.06), (0.05, 0.02), (0.05, 0.05), (0.05, 0.10), (0.10, 0.10))
"""(difference, noise of a block's value)."""
GATE: Final = ((1, 0.03), (5, 0.03), (20, 0.03), (1, 0.06))
"""(headlines, noise) of suites."""


@dataclass(frozen=True)
class LawRates:
    """Equal systems under one law at a noise of 3 %: by name of the design."""

    law: str
    false: dict[str, float]
    covered: dict[str, float]
    equivalent: dict[str, float]
    blocks: dict[str, float]


@dataclass(frozen=True)
class Power:
    """A difference under normal noise: by name of the design."""

    difference: float
    noise: float
    found: dict[str, float]
    wrong: dict[str, float]
    blocks: dict[str, float]
    early: float
    """Found by the long one where only the first blocks are cheap enough."""


@dataclass(frozen=True)
class Ladders:
    """All of it."""

    paths: int
    laws: tuple[LawRates, ...]
    power: tuple[Power, ...]
    gate: tuple[tuple[GateRates, GateRates], ...]
    """Of the standard looks, and of the long ones."""


def ladder_laws(law: str, paths: int, rng: np.random.Generator) -> LawRates:
    """Equal systems."""
    drawn = 0.03 * np.sqrt(2) * LAWS[law](rng, (paths, BLOCKS))
    rope = float(np.log1p(EQUIVALENT_WITHIN))
    ended = {one.name: outcome(one.bounds(drawn), 0.0, rope) for one in DESIGNS}
    return LawRates(
        law,
        false={name: float((found.claim != 0).mean()) for name, found in ended.items()},
        covered={name: float(found.covered.mean()) for name, found in ended.items()},
        equivalent={name: float(found.equivalent.mean()) for name, found in ended.items()},
        blocks={name: float(found.blocks.mean()) for name, found in ended.items()},
    )


def ladder_power(paths: int, rng: np.random.Generator) -> tuple[Power, ...]:
    """Every case, on the same paths: an interval is as wide as the noise is large."""
    drawn = np.sqrt(2) * rng.standard_normal((paths, BLOCKS))
    bounds = {one.name: one.bounds(drawn) for one in DESIGNS}
    told = []
    for difference, noise in CASES:
        effect, rope = (float(np.log1p(share)) / noise for share in (difference, EQUIVALENT_WITHIN))
        ended = {name: outcome(own, effect, rope) for name, own in bounds.items()}
        found = {name: own.claim == 1 for name, own in ended.items()}
        told.append(
            Power(
                difference,
                noise,
                found={name: float(own.mean()) for name, own in found.items()},
                wrong={name: float((own.claim == -1).mean()) for name, own in ended.items()},
                blocks={name: float(own.blocks.mean()) for name, own in ended.items()},
                early=float((found[LONG] & (ended[LONG].blocks <= FURTHER.beyond)).mean()),
            )
        )
    return tuple(told)


def _simulate(paths: int, seed: int) -> Ladders:
    kinds = len(LAWS) + 1 + 2 * len(GATE)
    streams = iter(
        [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(kinds)]
    )
    laws = tuple(ladder_laws(law, paths, next(streams)) for law in LAWS)
    found = ladder_power(paths, next(streams))
    gate = []
    for size, noise in GATE:
        suites = max(1, paths // min(4 * size, 40))
        standard, longer = (
            gate_rates(size, noise, suites, next(streams), profile)
            for profile in ("standard", LONG)
        )
        gate.append((standard, longer))
    return Ladders(paths, laws, found, tuple(gate))


def _lines(found: Ladders) -> list[Line]:
    error = 2 * float(np.sqrt(LEVEL * (1 - LEVEL) / found.paths))
    suites = min(own.suites for _, own in found.gate)
    of_gate = 2 * float(np.sqrt(LEVEL / 2 * (1 - LEVEL / 2) / suites))
    hard = found.power[0]
    cost = f"{percent(hard.found['standard'], 0)} → {percent(hard.found[LONG], 0)} %"
    return [
        Line("*long*, to 100 blocks: false claims, over three laws",
             f"{percent(LEVEL)} ± {percent(error)} %",
             span(one.false[LONG] for one in found.laws)),
        Line("*standard* → *long*: a difference of 2 % found under a noise of 3 %", "–", cost),
        Line("gate, *long*: suites with one headline at the margin that pass",
             f"{percent(LEVEL / 2)} ± {percent(of_gate)} %",
             span(own.passed_at for _, own in found.gate)),
    ]  # fmt: skip


_NAMES: Final = [one.name for one in DESIGNS]
Rows: TypeAlias = Sequence[Sequence[str]]


def _rows(found: Ladders) -> tuple[Rows, Rows, Rows]:
    """Of the three tables."""
    equal = [
        (one.law, *(f"{percent(own[name])}" for own, name in product((one.false, one.covered),
                                                                     _NAMES)),
         *(f"{percent(one.equivalent[name], 0)} ({one.blocks[name]:.1f})" for name in _NAMES))
        for one in found.laws
    ]  # fmt: skip
    different = [
        (f"{percent(one.difference, 0)} %, noise {percent(one.noise, 0)} %",
         *(f"{percent(one.found[name], 0)} ({one.blocks[name]:.1f})" for name in _NAMES),
         percent(one.early, 0),
         *(percent(one.wrong[name]) for name in _NAMES))
        for one in found.power
    ]  # fmt: skip
    gate = [
        (f"{own.size}, noise {percent(own.noise, 0)} %", f"{own.suites}",
         *(percent(each.passed, 0) for each in pair),
         *(percent(each.found, 0) for each in pair),
         *(percent(each.passed_at) for each in pair))
        for pair in found.gate for own in pair[:1]
    ]  # fmt: skip
    return equal, different, gate


def _told(found: Ladders) -> str:
    names, (equal, different, gate) = _NAMES, _rows(found)
    return f"""
## A long ladder

Commands that are compared alone, and what is typed with a budget, are looked at up to {
        BLOCKS
    } blocks
(*long*); the *standard* profile ends at 20. {
        found.paths:,} comparisons of each kind, as above, equivalent within
±{percent(EQUIVALENT_WITHIN, 0)} %; in brackets the blocks. Equal systems at a noise of 3 %:

{
        table(
            (
                "law",
                *(f"false claims, {name}" for name in names),
                *(f"truth held, {name}" for name in names),
                *(f"equivalent, {name}" for name in names),
            ),
            equal,
        )
    }

Differences that are found, %, and claims with the wrong sign, %. Where blocks cost so much that
the long ladder ends after {FURTHER.beyond} of them, it finds less than the standard one:

{
        table(
            (
                "difference",
                *names,
                f"{LONG}, by {FURTHER.beyond} blocks",
                *(f"wrong sign, {name}" for name in names),
            ),
            different,
        )
    }

The gate at a margin of 3 %. All programs equal, one worse by twice the margin, and one worse by
exactly the margin:

{
        table(
            (
                "headlines",
                "suites",
                *(f"equal: pass, {name}" for name in names),
                *(f"twice: fail, {name}" for name in names),
                *(f"at the margin: pass, {name}" for name in names),
            ),
            gate,
        )
    }
"""


SECTION: Final = Section("ladder", _simulate, _told, _lines)
