"""Effects in factorial studies: judged as one family, and as the findings state them.

In a study with several factors, fully crossed, each block holds a whole experiment. An effect is a
weighted sum of the logarithms of its systems, one number a block, and so has the repeated interval
of any comparison, whatever the correlation between systems:

* *main*: a level against the baseline's level, the mean over all combinations of other factors;
* *simple*: the same where one other factor is held at one level;
* *interaction*: the simple effect at one level less that at another one: a ratio of ratios.

All effects of a study are one family (Benjamini–Hochberg), so that a sentence on an interaction may
rest on the simple effects that it names.

Source: Montgomery, "Design and Analysis of Experiments", 9th ed., ch. 5 (factorial designs).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np

from tiltyard.analysis.contrast import Contrast, Contrasts
from tiltyard.analysis.judging import judge_rows
from tiltyard.analysis.model import Effect, WorkloadFindings
from tiltyard.analysis.quantity import Quantity
from tiltyard.analysis.statements.family import BENJAMINI_HOCHBERG, Family
from tiltyard.analysis.statements.numbers import confidence, scale_of_difference
from tiltyard.analysis.statements.verdicts import sentence
from tiltyard.analysis.tables import marks_of
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.path_length import PATH_LENGTH
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.types import BoolArray, FloatArray
from tiltyard.units import count_of, format_ratio, rounding_width

Levels = Mapping[str, str]


@dataclass(frozen=True)
class Term:
    """One effect of the design, before any measurement."""

    kind: Literal["main", "simple", "interaction"]
    factor: str
    level: str
    over: str
    """The baseline's level of the factor."""
    by: str | None
    by_level: str | None
    by_over: str | None
    """The earlier level of the other factor; ``None`` for a simple effect."""
    others: tuple[str, ...]
    """The factors over whose levels it is a mean."""
    weights: FloatArray
    """Of the systems in the order of the plan, shape (systems,); they sum to 0."""

    @property
    def subject(self) -> str:
        """What is told of: ``kernel 3.13``, of an interaction the change at ``by_level``."""
        if self.kind == "interaction":
            change = f"the change from {self.factor} {self.over} to {self.level}"
            return f"{change} on {self.by} {self.by_level}"
        return f"{self.factor} {self.level}"

    @property
    def against(self) -> str:
        """What it is compared with: ``3.12``, or the same change at ``by_over``."""
        return self.over if self.by_over is None else f"the same change on {self.by_over}"

    @property
    def where(self) -> str:
        """At which level it is, and over which factors it is a mean; behind a topic."""
        at = f" on {self.by} {self.by_level}" if self.kind == "simple" else ""
        return f"{at}, averaged over {' and '.join(self.others)}" if self.others else at


@dataclass(frozen=True)
class JudgedTerm:
    """An effect of one quantity, with its evidence and its verdict."""

    term: Term
    contrast: Contrast
    """Its differences are the effect block by block, told of the level against the baseline's."""


def terms_of(plan: Plan) -> list[Term]:
    """All effects of a study; none unless at least two factors vary and are fully crossed."""
    levels = [system.levels for system in plan.systems]
    base = plan.system(plan.baseline).levels
    varied = {
        factor: tuple(dict.fromkeys((base[factor], *(own[factor] for own in levels))))
        for factor in base
        if len({own[factor] for own in levels}) > 1
    }
    crossed = len({tuple(own.values()) for own in levels}) == prod(map(len, varied.values()))
    if len(varied) < 2 or not crossed:
        return []
    main = [term for factor in varied for term in _main(factor, varied, levels)]
    pairs = [_dependent(by, factor, varied, levels) for by, factor in combinations(varied, 2)]
    return sorted(
        [*main, *(term for terms in pairs for term in terms)],
        key=lambda term: ("main", "simple", "interaction").index(term.kind),
    )


def judge_effects(
    quantities: Sequence[Quantity],
    plan: Plan,
    adjust: Callable[[FloatArray], FloatArray],
    to_come: int | None = None,
) -> tuple[list[list[JudgedTerm]], Contrasts]:
    """Verdicts on every effect in every quantity, corrected as one family.

    Args:
        quantities: what was measured; the columns are the systems of the plan.
        plan: names the factors and the rules.
        adjust: p-values to adjusted ones, e.g. Benjamini–Hochberg's.
        to_come: blocks that may still be made; if not given, those up to the last look.

    Returns:
        For each quantity the effects in the order of :func:`terms_of`; and all of them together.
    """
    terms = terms_of(plan)
    if not terms or not quantities:
        return [[] for _ in quantities], Contrasts.none()
    asked = [
        replace(quantity, topic=f"{quantity.topic}{term.where}")
        for quantity in quantities
        for term in terms
    ]
    sides = [(term.subject, term.against) for term in terms] * len(quantities)
    rows = [_per_block(quantity, term) for quantity in quantities for term in terms]
    effects, attempted = map(np.stack, zip(*rows, strict=True))
    failed = attempted & ~np.isfinite(effects)
    rate = plan.design.false_discovery_rate
    rules = (plan.design, adjust, rate)
    # A ratio of two values has weights of 1 and -1.
    weights = np.array([np.abs(term.weights).sum() / 2 for term in terms] * len(quantities))
    family = (asked, sides, effects, failed)
    rows_judged = judge_rows(*family, *rules, to_come=to_come, weights=weights)
    judged = iter(rows_judged)
    return [[JudgedTerm(term, next(judged)) for term in terms] for _ in quantities], rows_judged


def _main(
    factor: str, varied: Mapping[str, Sequence[str]], levels: Sequence[Levels]
) -> Iterator[Term]:
    over, *others = varied[factor]
    for level in others:
        weights = _mean_of(levels, {factor: level}) - _mean_of(levels, {factor: over})
        left = tuple(name for name in varied if name != factor)
        yield Term("main", factor, level, over, None, None, None, left, weights)


def _dependent(
    by: str, factor: str, varied: Mapping[str, Sequence[str]], levels: Sequence[Levels]
) -> Iterator[Term]:
    """A factor's simple effects at each level of another one, and how far they differ."""
    over, *own = varied[factor]
    left = tuple(name for name in varied if name not in (by, factor))
    for level in own:
        simple = {
            place: _mean_of(levels, {factor: level, by: place})
            - _mean_of(levels, {factor: over, by: place})
            for place in varied[by]
        }
        for place, weights in simple.items():
            yield Term("simple", factor, level, over, by, place, None, left, weights)
        for by_over, place in combinations(varied[by], 2):
            weights = simple[place] - simple[by_over]
            yield Term("interaction", factor, level, over, by, place, by_over, left, weights)


def _mean_of(levels: Sequence[Levels], wanted: Levels) -> FloatArray:
    """Equal weights, with sum 1, for the systems that have all of the wanted levels."""
    chosen = np.array([wanted.items() <= own.items() for own in levels])
    weights: FloatArray = chosen / chosen.sum()
    return weights


def _per_block(quantity: Quantity, term: Term) -> tuple[FloatArray, BoolArray]:
    """The effect in each block, nan unless it has all systems involved; and which attempted it."""
    involved = term.weights != 0
    effect: FloatArray = quantity.log_values[:, involved] @ term.weights[involved]
    attempted: BoolArray = np.all(quantity.attempted[:, involved], axis=1)
    return effect, attempted


def with_effects(
    workloads: Sequence[WorkloadFindings],
    plan: Plan,
    judged: Sequence[JudgedWorkload],
    to_come: int,
) -> tuple[WorkloadFindings, ...]:
    """The workloads with their effects: of the index, then of each metric; one family together.

    ``to_come``: blocks that may still be made.
    """
    tables = [
        (one, table)
        for one in judged
        for table in (one.index, *(own for own in one.by_metric if own is not one.index))
    ]
    quantities = [table.quantity for _, table in tables]
    found, together = judge_effects(quantities, plan, benjamini_hochberg, to_come)
    family = Family.of(together, BENJAMINI_HOCHBERG)
    effects: dict[str, list[Effect]] = {}
    for (one, table), terms in zip(tables, found, strict=True):
        own = effects.setdefault(one.measured.workload.spec.name, [])
        own += _told(terms, table.quantity.topic, plan.design, family)
    return tuple(
        workload.model_copy(update={"effects": tuple(effects.get(workload.name, ()))})
        for workload in workloads
    )


def _told(
    judged: Sequence[JudgedTerm], topic: str, design: Design, family: Family
) -> Iterator[Effect]:
    """The effects of one quantity, an interaction by the simple effects that it compares."""
    for found in judged:
        if found.term.kind == "interaction" and found.contrast.verdict in ("faster", "slower"):
            text = _interaction(found, _sides(found.term, judged), design)
        else:
            text = sentence(found.contrast, design, family)
        yield _effect(found, topic, f"{text[0].upper()}{text[1:]}" if text[:4] == "the " else text)


def _effect(found: JudgedTerm, topic: str, text: str) -> Effect:
    term, interval = found.term, found.contrast.interval
    return Effect(
        kind=term.kind,
        factor=term.factor,
        level=term.level,
        over=term.over,
        by=term.by,
        by_level=term.by_level,
        by_over=term.by_over,
        topic=topic,
        blocks=interval.blocks if interval else 0,
        ratio=math.exp(interval.estimate) if interval else None,
        low=math.exp(interval.low) if interval else None,
        high=math.exp(interval.high) if interval else None,
        level_of_interval=interval.level if interval else 1 - LEVEL,
        extended=marks_of(found.contrast).get("extended", False),
        p_adjusted=found.contrast.p_adjusted,
        verdict=found.contrast.verdict,
        sentence=text,
    )


def _sides(term: Term, judged: Sequence[JudgedTerm]) -> tuple[Contrast, Contrast]:
    """The simple effects that an interaction compares, at ``by_level`` and at ``by_over``."""
    simple = {
        found.term.by_level: found.contrast
        for found in judged
        if found.term.kind == "simple"
        if (found.term.factor, found.term.level, found.term.by)
        == (term.factor, term.level, term.by)
    }
    return simple[term.by_level], simple[term.by_over]


def _interaction(found: JudgedTerm, sides: tuple[Contrast, Contrast], design: Design) -> str:
    """``kernel 3.13 gained 4.1 % on filesystem xfs but lost 3.0 % on btrfs, against 3.12, in …``.

    What is gained or lost on each side is told only where both sides are decided.
    """
    term = found.term
    topic = f"in {found.contrast.quantity.topic} ({_evidence(found.contrast, design)})"
    verdicts = [side.verdict for side in sides]
    if "undecided" in verdicts or verdicts == ["equivalent", "equivalent"]:
        better = "better" if found.contrast.verdict == "faster" else "worse"
        return (
            f"Against {term.over}, {term.factor} {term.level} does {better} on {term.by} "
            f"{term.by_level} than on {term.by_over} {topic}; what it gains or loses on each of "
            "them is not decided."
        )
    (verb, much), (other_verb, other_much) = (_moved(side, design) for side in sides)
    again = "" if other_verb == verb else f"{other_verb} "
    return (
        f"{term.factor} {term.level} {verb} {much} on {term.by} {term.by_level} but "
        f"{again}{other_much} on {term.by_over}, against {term.over}, {topic}."
    )


def _moved(side: Contrast, design: Design) -> tuple[str, str]:
    """Verb and amount of a decided simple effect: speeds are gained, of times less is taken."""
    if side.interval is None or side.verdict == "equivalent":
        return "made", f"no difference beyond {100 * design.equivalent_within:g} %"
    scale = scale_of_difference(math.exp(side.interval.low), math.exp(side.interval.high))
    amount = scale.amount(math.exp(side.interval.estimate))
    if side.quantity.unit == PATH_LENGTH:
        if scale.factor:
            return "needed", f"{amount} as many instructions"
        return "needed", f"{amount} {'fewer' if side.verdict == 'faster' else 'more'} instructions"
    if side.quantity.direction == "lower":
        if scale.factor:
            return "took", f"{amount} the time"
        return "took", f"{amount} {'less' if side.verdict == 'faster' else 'more'} time"
    if scale.factor:
        return "was", f"{amount} as fast"
    return "gained" if side.verdict == "faster" else "lost", amount


def _evidence(contrast: Contrast, design: Design) -> str:
    """``interaction 1.07, 95 % CI 1.04 … 1.11, 10 blocks``."""
    interval = contrast.interval
    if interval is None:
        raise ValueError("a difference without an interval")
    low, high = math.exp(interval.low), math.exp(interval.high)
    ratio, *ends = (
        format_ratio(value, rounding_width(low, high))
        for value in (math.exp(interval.estimate), low, high)
    )
    level = confidence(interval.level, design.false_discovery_rate)
    return (
        f"interaction {ratio}, {level} {' … '.join(ends)}, "
        f"{count_of(interval.blocks, contrast.quantity.unit_of_replication)}"
    )
