"""The answer to the question, made of the contrasts of a workload's index and of nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.amounts import compatible, coverage, scale_of_difference, span
from tiltyard.analysis.contrast import Contrast, Judged
from tiltyard.analysis.model import Index
from tiltyard.analysis.network import between_hosts
from tiltyard.analysis.words import Family
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.path_length import PATH_LENGTH

THROUGHPUT: Final = " throughput"
"""A metric with this word in its name is told as more of it, not as faster."""


@dataclass(frozen=True)
class Rivals:
    """The best system of a workload by estimate, against each of the others."""

    best: str
    against: tuple[Contrast, ...]
    """Told from the best system's side, in the order of rank."""

    def with_verdict(self, *verdicts: str) -> list[Contrast]:
        """The contrasts with one of these verdicts."""
        return [contrast for contrast in self.against if contrast.verdict in verdicts]


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
    rivals = Rivals(best, tuple(judged.between(best, other) for other in others))
    if reason := rivals.against[0].withheld:
        return f"No verdict on {topic} {here}: {reason}."
    if all(found.interval is None and found.verdict != "invalid" for found in rivals.against):
        return _too_early(topic, rivals, family.first_look(design), here, design)
    parts = [
        _open(topic, rivals, judged, family, design),
        _equivalent(topic, rivals, design),
        _different(topic, rivals),
        _invalid(topic, rivals),
    ]
    text = f"{'; '.join(filter(None, parts))} {here}."
    return text if text.startswith(rivals.best) else text[0].upper() + text[1:]


def _here(plan: Plan) -> str:
    """Where the verdicts hold, and when where the plan has several sessions."""
    where = "between these hosts" if between_hosts(plan) else "on this host"
    sessions = plan.design.sessions
    if sessions == 1:
        return where
    return f"{where}, {'over' if plan.design.unit == 'session' else 'in these'} {sessions} sessions"


def _too_early(topic: str, rivals: Rivals, first: int | None, here: str, design: Design) -> str:
    """``first``: blocks of the first look that has an interval for so many comparisons."""
    if first is None:
        few = f"too few {design.unit}s for its comparisons"
        return f"No verdict on {topic} {here}: the plan has {few}."
    blocks = min(len(contrast.differences) for contrast in rivals.against)
    return (
        f"No verdict yet on {topic} {here}: {blocks} of the {first} {design.unit}s "
        "of the first look are there."
    )


def _open(topic: str, rivals: Rivals, judged: Judged, family: Family, design: Design) -> str:
    found = rivals.with_verdict("undecided")
    if not found:
        return ""
    others = _listed(
        [f"{one.against} ({_possible(judged.as_printed(one), family, design)})" for one in found]
    )
    return f"undecided in {topic} between {rivals.best} and {others}"


def _possible(contrast: Contrast, family: Family, design: Design) -> str:
    """What an open comparison leaves possible, of which of the two, and why it is open."""
    interval = contrast.interval
    if interval is None:
        return f"too few {design.unit}s"
    possible = compatible(math.exp(interval.low), math.exp(interval.high))
    excludes = not interval.low <= 0 <= interval.high
    yet = f", not yet certain among {family.size} comparisons" if excludes else ""
    level = coverage(interval.level)
    after = design.amount(interval.blocks)
    return f"{contrast.system} {possible} after {after}, {level} interval{yet}"


def _equivalent(topic: str, rivals: Rivals, design: Design) -> str:
    found = rivals.with_verdict("equivalent")
    if not found:
        return ""
    others = _listed([contrast.against for contrast in found])
    within = f"equivalent within {100 * design.equivalent_within:g} %"
    return f"{rivals.best} and {others} are {within} in {topic}"


def _different(topic: str, rivals: Rivals) -> str:
    """``xfs does 24–39 % more postmark transactions per second than ext4 and …``."""
    found = rivals.with_verdict("faster", "slower")
    if not found:
        return ""
    clauses = [_clause(contrast, topic, first=place == 0) for place, contrast in enumerate(found)]
    return f"{rivals.best} {_listed(clauses)}"


def _invalid(topic: str, rivals: Rivals) -> str:
    found = rivals.with_verdict("invalid")
    if not found:
        return ""
    others = _listed([contrast.against for contrast in found])
    return f"no verdict in {topic} on {rivals.best} against {others}, too many blocks failed"


def _clause(contrast: Contrast, topic: str, first: bool) -> str:
    """What the system does more or less of than another one; in full only the first time."""
    interval = contrast.interval
    if interval is None:
        raise ValueError("a difference without an interval")
    low, high = math.exp(interval.low), math.exp(interval.high)
    amount, more = span(low, high), interval.estimate > 0
    factor = scale_of_difference(low, high).factor
    quantity = contrast.quantity
    if quantity.unit == PATH_LENGTH:
        joint = "as" if factor else "than"
        word = "times as many" if factor else "more" if more else "fewer"
        amount = f"{amount} {word} instructions per operation {joint}"
        return _worded("needs", amount, contrast, f" in {topic}", first)
    if quantity.direction == "lower":
        word = "times the time of" if factor else "more time than" if more else "less time than"
        return _worded("takes", f"{amount} {word}", contrast, f" in {topic}", first)
    if quantity.unit == "1/s" and quantity.metric:
        word = "times as many" if factor else "more" if more else "fewer"
        return _counted(f"{amount} {word}", "as" if factor else "than", contrast, first)
    where = f" in {topic}"
    named, throughput, _ = quantity.metric.partition(THROUGHPUT)
    if throughput:
        where = f" in {named}{topic.removeprefix(quantity.metric)}"
        word = "times the" if factor else "more" if more else "less"
        joint = "of" if factor else "than"
        return _worded("has", f"{amount} {word}{throughput} {joint}", contrast, where, first)
    word = "times as fast as" if factor else "faster than" if more else "slower than"
    return _worded("is", f"{amount} {word}", contrast, where, first)


def _counted(amount: str, joint: str, contrast: Contrast, first: bool) -> str:
    """``does 24 % more files created per second, loop 2, than ext4``; the place may come last."""
    if not first:
        return f"{amount} {joint} {contrast.against}"
    metric = contrast.quantity.metric
    place = contrast.quantity.topic.removeprefix(metric)
    inside, behind = (f"{place},", "") if place.startswith(",") else ("", place)
    return f"does {amount} {metric} per second{inside} {joint} {contrast.against}{behind}"


def _worded(verb: str, amount: str, contrast: Contrast, where: str, first: bool) -> str:
    return f"{verb} {amount} {contrast.against}{where}" if first else f"{amount} {contrast.against}"


def _listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
