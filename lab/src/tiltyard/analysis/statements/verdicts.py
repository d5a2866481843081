"""Verdicts in sentences: one comparison, and the answer on one workload."""

import math
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.contrast import Contrast, Judged
from tiltyard.analysis.model import Index
from tiltyard.analysis.network import between_hosts
from tiltyard.analysis.statements.family import HOLM, Family, Needed
from tiltyard.analysis.statements.numbers import (
    Scale,
    compatible,
    confidence,
    confidence_said_once,
    ends,
    is_extended,
    nearest_first,
    scale_of_difference,
    scale_of_doubt,
)
from tiltyard.analysis.statements.statement import statement
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.path_length import PATH_LENGTH
from tiltyard.plan.prospect import blocks_for
from tiltyard.stats.planning import LIKELY_SHARE, MANY_BLOCKS
from tiltyard.stats.sequential import RepeatedInterval
from tiltyard.units import agreeing, count_of, listed

SAME: Final = 1e-9
"""On the log scale: an interval of no more width is of differences that are all the same."""


@dataclass(frozen=True)
class Compared:
    """One comparison with the rules it was judged by."""

    contrast: Contrast
    design: Design
    family: Family

    @property
    def pair(self) -> str:
        """What a sentence without a winner begins with."""
        own = self.contrast
        return f"{own.system} against {own.against} in {own.quantity.topic}"

    @property
    def rate(self) -> float | None:
        """The false coverage rate of the family; ``None``: its intervals are simultaneous."""
        return None if self.family.correction == HOLM else self.design.false_discovery_rate

    @property
    def evidence(self) -> str:
        """``7 of 20 blocks (35 %) failed``."""
        own = self.contrast
        share = 100 * own.failed / own.attempted
        return f"{own.failed} of {count_of(own.attempted, self.design.unit)} ({share:.0f} %) failed"


def sentence(contrast: Contrast, design: Design, family: Family) -> str:
    """The verdict in words, with its interval and number of blocks: the first that applies."""
    compared = Compared(contrast, design, family)
    return next(text for one in COMPARISONS if (text := one.make(compared)))


@statement("comparison", "SYSTEM against SYSTEM in TOPIC: VERDICT; REASON.")
def _withheld(compared: Compared) -> str:
    """Too few undisturbed blocks for any verdict."""
    own = compared.contrast
    return f"{compared.pair}: {own.verdict}; {own.withheld}." if own.withheld else ""


@statement("comparison", "SYSTEM against SYSTEM in TOPIC: invalid; N of M blocks failed.")
def _invalid(compared: Compared) -> str:
    """Too many blocks failed."""
    invalid = compared.contrast.verdict == "invalid"
    return f"{compared.pair}: invalid; {compared.evidence}." if invalid else ""


@statement(
    "comparison",
    "SYSTEM against SYSTEM in TOPIC: undecided; N of the M blocks that the first look needs.",
)
def _too_early(compared: Compared) -> str:
    """No look has been reached that has an interval."""
    if compared.contrast.interval is not None:
        return ""
    design, size = compared.design, compared.family.size
    first, done = compared.family.first_look(design), len(compared.contrast.differences)
    head = f"{compared.pair}: undecided; "
    if first is None:
        last = design.looks[-1].blocks
        few = f"{design.amount(last)} are too few for {size} simultaneous intervals"
        return f"{head}{few}, which need {blocks_for(size, design)}."
    there = f"{head}{done} of the {count_of(first, design.unit)}"
    if first > design.looks[0].blocks:
        return f"{there} that {size} simultaneous intervals need."
    return f"{there} that the first look needs."


@statement("comparison", "SYSTEM against SYSTEM in TOPIC: undecided; N of M blocks failed …")
def _failing(compared: Compared) -> str:
    """So many blocks failed that a verdict needs further ones to succeed."""
    if compared.contrast.verdict != "undecided" or not compared.contrast.fails_too_often:
        return ""
    return (
        f"{compared.pair}: undecided; {compared.evidence}, too many for a verdict unless further "
        f"{compared.design.unit}s succeed."
    )


@statement("comparison", "SYSTEM and SYSTEM are equivalent within ±N % in TOPIC (95 % CI …)")
def _equivalent(compared: Compared) -> str:
    """The interval lies within the equivalence margin."""
    contrast, design = compared.contrast, compared.design
    interval = contrast.interval
    if interval is None or contrast.verdict != "equivalent":
        return ""
    low, high = math.exp(interval.low), math.exp(interval.high)
    detected = ""
    if not interval.low <= 0 <= interval.high:
        size = scale_of_doubt(low, high).signed(math.exp(interval.estimate))
        detected = f"; a difference of {size} % was detected"
    return (
        f"{contrast.system} and {contrast.against} are equivalent within "
        f"±{100 * design.equivalent_within:g} % in {contrast.quantity.topic} "
        f"({_basis(interval, compatible(low, high), design, compared.rate)}){detected}."
    )


@statement("comparison", "SYSTEM against SYSTEM in TOPIC: undecided after N blocks (95 % CI …)")
def _undecided(compared: Compared) -> str:
    """The interval holds values on both sides of the equivalence margin."""
    interval, design = compared.contrast.interval, compared.design
    if interval is None or compared.contrast.verdict != "undecided":
        return ""
    low, high = math.exp(interval.low), math.exp(interval.high)
    head = f"{compared.pair}: undecided after {design.amount(interval.blocks)} "
    level = f"{confidence(interval.level, compared.rate)} {compatible(low, high)}"
    if is_extended(low, high, interval.p, interval.level):
        return (
            f"{head}({level}, extended to equality): not significant after correction for "
            f"{count_of(compared.family.size, 'comparison')} ({compared.family.correction})."
        )
    if compared.contrast.futile:
        return f"{head}({level}); stopped there, because {_too_many(interval, compared)}."
    return f"{head}({level}); {_outlook(interval, compared)}."


def _too_many(interval: RepeatedInterval, compared: Compared) -> str:
    """Why more blocks were not made."""
    design = compared.design
    needed = compared.family.needed(interval, design)
    last = design.looks[-1].blocks
    return f"a decision needs {_in_words(needed, design)} and the last look is after {last}"


def _in_words(needed: Needed, design: Design) -> str:
    """``a new study of ≈ 130 blocks (80 % chance)``."""
    many = f"more than {MANY_BLOCKS}" if needed.blocks is None else f"≈ {needed.blocks}"
    head = "a new study of " if needed.anew else ""
    return f"{head}{count_of(many, design.unit)} ({LIKELY_SHARE} chance)"


def _outlook(interval: RepeatedInterval, compared: Compared) -> str:
    """How many more blocks are needed for a decision."""
    design = compared.design
    needed = compared.family.needed(interval, design)
    if needed.anew or needed.blocks is None:
        return f"a decision needs {_in_words(needed, design)}"
    more = count_of(needed.blocks - interval.blocks, f"more {design.unit}")
    return f"≈ {more} needed ({LIKELY_SHARE} chance)"


def blocks_of_decision(contrast: Contrast, design: Design, family: Family) -> dict[str, int]:
    """How many blocks a decision likely takes, where there is none, as fields of a comparison.

    Where the plan has too few for any interval: how many an interval takes. Nothing where they are
    very many, or not known.
    """
    interval = contrast.interval
    if contrast.verdict != "undecided" or contrast.withheld:
        return {}
    if interval is None:
        early = family.first_look(design) is not None
        return {} if early else {"new_study_needs": blocks_for(family.size, design)}
    needed = family.needed(interval, design)
    if needed.blocks is None:
        return {}
    if needed.anew:
        return {"new_study_needs": needed.blocks}
    return {"more_needed": needed.blocks - interval.blocks}


@statement("comparison", "SYSTEM is N % faster than SYSTEM in TOPIC (95 % CI …, N blocks)")
def _different(compared: Compared) -> str:
    """The interval excludes 1."""
    contrast, design = compared.contrast, compared.design
    interval = contrast.interval
    if interval is None:
        return ""
    low, high = math.exp(interval.low), math.exp(interval.high)
    scale = scale_of_difference(low, high)
    nearest, _ = nearest_first(low, high)
    size, topic = scale.amount(math.exp(interval.estimate)), contrast.quantity.topic
    if interval.high - interval.low <= SAME:
        claim = _claim(contrast, f"exactly {size}", scale)
        return f"{claim} in {topic}, the same in each of {design.amount(interval.blocks)}."
    basis = _basis(interval, ends(low, high), design, compared.rate)
    text = f"{_claim(contrast, size, scale)} in {topic} ({basis})"
    if abs(math.log(nearest)) >= math.log1p(design.equivalent_within):
        return f"{text}."
    margin = f"±{100 * design.equivalent_within:g} %"
    return f"{text}; the interval includes differences within the equivalence margin ({margin})."


COMPARISONS: Final = (
    _withheld,
    _invalid,
    _too_early,
    _failing,
    _equivalent,
    _undecided,
    _different,
)
"""The first that applies is printed."""


def _claim(contrast: Contrast, amount: str, scale: Scale) -> str:
    """Who is better, and by how much: speeds are faster or slower, times are less or more.

    Instructions are fewer or more.
    """
    system, against = contrast.system, contrast.against
    if contrast.quantity.unit == PATH_LENGTH:
        if scale.factor:
            return f"{system} needs {amount} as many instructions per operation as {against}"
        word = "fewer" if contrast.verdict == "faster" else "more"
        return f"{system} needs {amount} {word} instructions per operation than {against}"
    if contrast.quantity.direction == "higher":
        if scale.factor:
            return f"{system} is {amount} as fast as {against}"
        return f"{system} is {amount} {contrast.verdict} than {against}"
    time = _time(contrast)
    if scale.factor:
        return f"{system} takes {amount} the {time} of {against}"
    word = "less" if contrast.verdict == "faster" else "more"
    return f"{system} takes {amount} {word} {time} than {against}"


_CPU_TIME: Final = "CPU time"


def _time(contrast: Contrast) -> str:
    """``time``, or ``CPU time`` where that is what was measured."""
    return _CPU_TIME if _CPU_TIME in contrast.quantity.named else "time"


THROUGHPUT: Final = " throughput"
"""A metric with this word in its name is worded as more of it, not as faster."""


@dataclass(frozen=True)
class Rivals:
    """The best system of a workload by estimate, against each of the others."""

    best: str
    pairs: tuple[Contrast, ...]
    """In the order of rank, each from the side that tables tell it from."""

    def with_verdict(self, *verdicts: str) -> list[Contrast]:
        """The contrasts with one of these verdicts."""
        return [contrast for contrast in self.pairs if contrast.verdict in verdicts]

    def rival(self, contrast: Contrast) -> str:
        """The other one of the two."""
        return contrast.against if contrast.system == self.best else contrast.system

    def is_ahead(self, contrast: Contrast) -> bool:
        """Whether the best system by estimate is found to be the better one of the two."""
        return contrast.verdict == ("faster" if contrast.system == self.best else "slower")


def answer(index: Index, judged: Judged, plan: Plan, family: Family) -> str:
    """One sentence on one workload: the best system against each of the others.

    Open comparisons come first: a system that is not separated from another one is not called
    the best.
    """
    topic, design, here = judged.quantity.topic, plan.design, _here(plan)
    ranked = [standing.system for standing in index.standings]
    if len(ranked) < 2:
        return f"No verdict on {topic} {here}: fewer than two systems have been measured."
    best, *others = dict.fromkeys((*ranked, *judged.systems))
    rivals = Rivals(best, tuple(judged.pair(best, other) for other in others))
    if reason := rivals.pairs[0].withheld:
        return f"No verdict on {topic} {here}: {reason}."
    if all(found.interval is None and found.verdict != "invalid" for found in rivals.pairs):
        return _answer_too_early(topic, rivals, family.first_look(design), here, design)
    known = [
        _open(topic, rivals, family, design),
        _answer_equivalent(topic, rivals, design),
    ]
    parts = [
        *known,
        _answer_different("" if any(known) else topic, rivals, design),
        _answer_invalid(topic, rivals),
    ]
    text = confidence_said_once(f"{'; '.join(filter(None, parts))} {here}.")
    return text if text.startswith(judged.systems) else text[0].upper() + text[1:]


def _here(plan: Plan) -> str:
    """Where the verdicts hold, and when where the plan has several sessions."""
    where = "between these hosts" if between_hosts(plan) else f"on {plan.where}"
    sessions = plan.design.sessions
    if sessions == 1:
        return where
    return (
        f"{where}, {'over' if plan.design.unit == 'session' else 'in these'} "
        f"{count_of(sessions, 'session')}"
    )


def _answer_too_early(
    topic: str, rivals: Rivals, first: int | None, here: str, design: Design
) -> str:
    """``first``: blocks of the first look that has an interval for so many comparisons."""
    if first is None:
        few = f"too few {design.unit}s for its comparisons"
        return f"No verdict on {topic} {here}: the plan has {few}."
    blocks = min(len(contrast.differences) for contrast in rivals.pairs)
    return (
        f"No verdict yet on {topic} {here}: {blocks} of the {count_of(first, design.unit)} that "
        f"the first look needs {agreeing(blocks, 'is', 'are')} done."
    )


NAMED: Final = 3
"""As many rivals are told with their intervals; of more the nearest, and how many."""


def _open(topic: str, rivals: Rivals, family: Family, design: Design) -> str:
    found = rivals.with_verdict("undecided")
    if not found:
        return ""
    head = f"no difference shown in {topic} between {rivals.best} and"
    if len(found) > NAMED:
        return f"{head} {count_of(len(found), 'other')}"
    others = [f"{rivals.rival(one)} ({_possible(one, family, design)})" for one in found]
    return f"{head} {listed(others)}"


def _possible(contrast: Contrast, family: Family, design: Design) -> str:
    """What an open comparison leaves possible, of which against which, and why it is open."""
    interval = contrast.interval
    if interval is None:
        return f"too few {design.unit}s"
    basis = _basis(interval, compatible(math.exp(interval.low), math.exp(interval.high)), design)
    text = f"{_named(contrast)}: {basis}"
    if is_extended(math.exp(interval.low), math.exp(interval.high), interval.p, interval.level):
        text += f"; not significant after correction for {count_of(family.size, 'comparison')}"
    return text


def _named(contrast: Contrast) -> str:
    """Of which system against which."""
    return f"{contrast.system} against {contrast.against}"


def _basis(interval: RepeatedInterval, ends: str, design: Design, rate: float | None = None) -> str:
    """``95 % CI 4 to 27 %, 20 blocks``."""
    return f"{confidence(interval.level, rate)} {ends}, {design.amount(interval.blocks)}"


def _answer_equivalent(topic: str, rivals: Rivals, design: Design) -> str:
    found = rivals.with_verdict("equivalent")
    if not found:
        return ""
    within = f"equivalent within ±{100 * design.equivalent_within:g} % in {topic}"
    others = listed([rivals.rival(contrast) for contrast in found])
    if len(found) > NAMED:
        return f"{rivals.best} and {others} are {within}"
    ends = [
        f"{_named(one)}: {_basis(own, compatible(math.exp(own.low), math.exp(own.high)), design)}"
        for one in found
        if (own := one.interval)
    ]
    return f"{rivals.best} and {others} are {within} ({'; '.join(ends)})"


def _answer_different(topic: str, rivals: Rivals, design: Design) -> str:
    """``xfs does 31 % more postmark transactions per second than ext4 (95 % CI …) and …``.

    Each pair is told from the side that tables have. ``topic`` is empty where it was named.
    """
    found = rivals.with_verdict("faster", "slower")
    if not found:
        return ""
    if len(found) > NAMED and all(map(rivals.is_ahead, found)):
        nearest = min(found, key=lambda one: abs(one.interval.estimate) if one.interval else 0)
        verb, clause = _clause(nearest, topic, design, first=True)
        ahead = f"the nearest of {len(found)} that {rivals.best} is ahead of"
        return f"{nearest.system} {verb} {clause}, {ahead}"
    clauses, subject = [], ""
    for place, contrast in enumerate(found):
        verb, clause = _clause(contrast, topic, design, first=place == 0)
        new = contrast.system != subject
        clauses.append(f"{contrast.system} {verb} {clause}" if new else clause)
        subject = contrast.system
    return listed(clauses)


def _answer_invalid(topic: str, rivals: Rivals) -> str:
    found = rivals.with_verdict("invalid")
    if not found:
        return ""
    others = listed([rivals.rival(contrast) for contrast in found])
    return f"no verdict in {topic} on {rivals.best} against {others}, too many blocks failed"


def _clause(contrast: Contrast, topic: str, design: Design, first: bool) -> tuple[str, str]:
    """What the system does, and how much more or less than another one; in full the first time."""
    interval = contrast.interval
    if interval is None:
        raise ValueError("a difference without an interval")
    verb, text = _difference(contrast, interval, topic, first)
    low, high = math.exp(interval.low), math.exp(interval.high)
    if interval.high - interval.low <= SAME:
        return verb, f"{text} (the same in each of {design.amount(interval.blocks)})"
    return verb, f"{text} ({_basis(interval, ends(low, high), design)})"


def _difference(
    contrast: Contrast, interval: RepeatedInterval, topic: str, first: bool
) -> tuple[str, str]:
    """The same without its interval."""
    more = interval.estimate > 0
    scale = scale_of_difference(math.exp(interval.low), math.exp(interval.high))
    factor, quantity = scale.factor, contrast.quantity
    number = scale.number(math.exp(interval.estimate))
    amount = number if factor else f"{number} %"
    where, against = f" in {topic}" if topic and first else "", contrast.against
    if quantity.unit == PATH_LENGTH:
        joint = "as" if factor else "than"
        word = "times as many" if factor else "more" if more else "fewer"
        return "needs", f"{amount} {word} instructions per operation {joint} {against}{where}"
    if quantity.direction == "lower":
        time = _time(contrast)
        word = f"times the {time} of" if factor else f"{'more' if more else 'less'} {time} than"
        return "takes", f"{amount} {word} {against}{where}"
    if quantity.unit == "1/s" and quantity.named:
        word = "times as many" if factor else "more" if more else "fewer"
        return "does", _counted(f"{amount} {word}", "as" if factor else "than", contrast, first)
    named, throughput, _ = quantity.named.partition(THROUGHPUT)
    if throughput:
        where = topic.removeprefix(quantity.named) if first else ""
        word = "times the" if factor else "higher" if more else "lower"
        what = " ".join(filter(None, (word, named))) + throughput
        return "has", f"{amount} {what} {'of' if factor else 'than'} {against}{where}"
    word = "times as fast as" if factor else "faster than" if more else "slower than"
    return "is", f"{amount} {word} {against}{where}"


def _counted(amount: str, joint: str, contrast: Contrast, first: bool) -> str:
    """``24 % more files created per second, loop 2, than ext4``; the place may come last."""
    if not first:
        return f"{amount} {joint} {contrast.against}"
    metric = contrast.quantity.named
    place = contrast.quantity.topic.removeprefix(metric)
    inside, behind = (f"{place},", "") if place.startswith(",") else ("", place)
    return f"{amount} {metric} per second{inside} {joint} {contrast.against}{behind}"
