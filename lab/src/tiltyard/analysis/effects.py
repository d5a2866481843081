"""The effects of a factorial study as the findings state them."""

import math
from collections.abc import Iterator, Sequence

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.factorial import JudgedTerm, Term, judge_effects
from tiltyard.analysis.model import Effect, WorkloadFindings
from tiltyard.analysis.statements.numbers import coverage, scale_of_difference
from tiltyard.analysis.statements.verdicts import BENJAMINI_HOCHBERG, Family, sentence
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.path_length import PATH_LENGTH
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.sequential import LEVEL
from tiltyard.units import format_ratio


def with_effects(
    workloads: Sequence[WorkloadFindings],
    plan: Plan,
    judged: Sequence[JudgedWorkload],
    to_come: int,
) -> tuple[WorkloadFindings, ...]:
    """The workloads with their effects: of the index, then of each metric; one family together.

    ``to_come``: blocks that may still be made.
    """
    tables = [(one, table) for one in judged for table in (one.index, *one.by_metric)]
    quantities = [table.quantity for _, table in tables]
    found = judge_effects(quantities, plan, benjamini_hochberg, to_come)
    claimed = sum(one.contrast.verdict in ("faster", "slower") for terms in found for one in terms)
    family = Family(sum(map(len, found)), BENJAMINI_HOCHBERG, claimed)
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
    topic = f"in {found.contrast.quantity.topic} ({_evidence(found.contrast)})"
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


def _evidence(contrast: Contrast) -> str:
    """``interaction 1.07, 95 % interval 1.04 … 1.11, 10 blocks``."""
    interval = contrast.interval
    if interval is None:
        raise ValueError("a difference without an interval")
    low, high = math.exp(interval.low), math.exp(interval.high)
    ratio, *ends = (
        format_ratio(value, (high - low) / 2) for value in (math.exp(interval.estimate), low, high)
    )
    return (
        f"interaction {ratio}, {coverage(interval.level)} CI {' … '.join(ends)}, "
        f"{interval.blocks} {contrast.quantity.unit_of_replication}s"
    )
