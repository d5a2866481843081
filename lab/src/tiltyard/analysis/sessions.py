"""Several sessions of one study: what holds over them, and how far they differ.

A session is a group of blocks that share what a day or a boot is like. The difference of two
systems in a session is the mean of its blocks' log ratios; the verdict over sessions is by the
signed ranks of these, the family corrected like that of the headlines. Where the plan has enough
sessions it is *the* verdict of the study; else the verdicts hold for the blocks of these sessions,
and that over sessions stands beside them, judged by looks that are the same for every study.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast, Contrasts
from tiltyard.analysis.findings import HEADLINE_LEVEL, analyse
from tiltyard.analysis.judging import by_session, judge_rows, paired, rows_of
from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.quantity import Quantity, collect, pairs_of
from tiltyard.analysis.session_model import (
    OverSessions,
    SessionApart,
    SessionLevel,
    SessionLine,
    Sessions,
    SessionValue,
)
from tiltyard.analysis.statements.family import HOLM, Family
from tiltyard.analysis.statements.numbers import compatible, p_text, ratio, scale_of_difference
from tiltyard.analysis.statements.verdicts import sentence
from tiltyard.analysis.workload import quantities_of
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.sessions import design_over_sessions, session_of
from tiltyard.run.progress import progress_of, without_replaced_blocks
from tiltyard.run.sessions import APART_H, Recorded, pooled, replicates, seal_of
from tiltyard.stats.looks import FEWEST
from tiltyard.stats.multiple import holm
from tiltyard.stats.outlying_groups import OutlyingGroup, outlying_groups
from tiltyard.stats.permutation import lag_one, permutation_p
from tiltyard.stats.random_effects import unmet
from tiltyard.stats.replication import Spread, spread_between
from tiltyard.stats.signed_rank import largest_c, signed_rank
from tiltyard.stats.types import BoolArray, FloatArray, IntArray
from tiltyard.units import agreeing, count_of, format_number, listed, part_of

_HOUR_S: Final = 3600.0
_NAMED: Final = 3
"""As many sessions that lie apart are told; of more their number."""


def analyse_sessions(groups: Sequence[Recorded], others: int = 0) -> Findings:
    """All findings of a study of one session or several.

    The verdicts rest on the sessions that were planned; those that were added later count in what
    is said over sessions, and nowhere else.

    Args:
        groups: every session that has a plan, the first one first.
        others: headline comparisons of other studies that are corrected together with these.
    """
    first = groups[0].plan
    units = _units(groups)
    plan, run = pooled(groups[: first.design.sessions])
    findings = analyse(_by_unit(plan, units), run, others)
    if len(groups) == 1:
        return findings
    design = design_over_sessions(first.design)
    seen = _seen([group for group in groups if group.is_over], units)
    comparisons = tuple(_over_sessions(seen, design)) if seen else ()
    return findings.model_copy(
        update={
            "plan_hash": first.hash,
            "notices": (*findings.notices, *_warnings(groups, comparisons)),
            "seal": seal_of([group.run.seal for group in groups if group.is_begun]),
            "sessions": Sessions(
                planned=first.design.sessions,
                unit=plan.design.unit,
                sentence=_scope(first, groups),
                lines=tuple(_lines(groups)),
                comparisons=comparisons,
                levels=tuple(_levels(seen)) if seen else (),
            ),
        }
    )


def _units(groups: Sequence[Recorded]) -> dict[int, int]:
    """Session → what it counts as: those that share a host, or a boot and day, are one.

    Where a plan has enough sessions but too few of these, sessions count, and hold for these few.
    """
    same, planned = replicates(groups), groups[0].plan.design.sessions
    few = len({same[group.number] for group in groups[:planned]}) < FEWEST
    return {number: number for number in same} if few and planned >= FEWEST else same


def _by_unit(plan: Plan, units: Mapping[int, int]) -> Plan:
    """The same with the sessions of its blocks as they count."""
    blocks, spares = (
        tuple(
            one.model_copy(update={"session": units[one.session]})
            if units[one.session] != one.session
            else one
            for one in own
        )
        for own in (plan.blocks, plan.spares)
    )
    return plan.model_copy(update={"blocks": blocks, "spares": spares})


def _scope(first: Plan, groups: Sequence[Recorded]) -> str:
    """What the verdicts hold for."""
    design = first.design
    planned, over = design.sessions, sum(group.is_over for group in groups)
    added = len(groups) - planned
    beside = f", {added} of them added to the finished study" if added else ""
    done = f"{part_of(over, len(groups), 'session')} done{beside}. "
    lost = " ".join(f"{why}." for group in groups for why in group.run.lost)
    if planned >= FEWEST:
        return (
            f"{done}The verdicts go by the means of {count_of(planned, 'session')} and "
            f"{_holds_for(groups)} Further observations go by blocks, and hold for these sessions. "
            f"{lost}"
        ).strip()
    if first.placement:
        which = f"{_twice(groups)}The verdicts hold for these hosts"
        return f"{done}{which}, and from {FEWEST} on for hosts like them. {lost}".strip()
    looks = [look.blocks for look in design_over_sessions(design).looks]
    which = "the first session" if planned == 1 else f"these {planned} sessions"
    return (
        f"{done}The verdicts of the study hold for {which}. What holds for other days and boots is "
        f"said over sessions, by looks after {', '.join(map(str, looks[:-1]))} and {looks[-1]} of "
        "them that are the same for every study, so that adding one is no look that was not "
        f"planned. {_twice(groups)}"
    ).strip()


def _holds_for(groups: Sequence[Recorded]) -> str:
    """What verdicts over sessions hold for, by how many hosts, or boots and days, these are."""
    first = groups[0].plan
    same = replicates(groups)
    count = len({same[group.number] for group in groups[: first.design.sessions]})
    noun, plural, like = (
        ("host", "hosts", "other hosts of this kind")
        if first.placement
        else ("boot", "boots or days", "other days and boots of this host")
    )
    if count >= FEWEST:
        return (
            f"hold for what is typical of sessions like these, of {count_of(count, noun, plural)}: "
            f"{like}. A kind of {noun} rarer than {100 * unmet(count):.0f} % may not have been "
            f"met. {_twice(groups)}".rstrip()
        )
    these = f"this {noun}" if count == 1 else f"these {count} {plural}"
    return f"hold for {these} only; beyond, {FEWEST} would be needed. {_twice(groups)}".rstrip()


def _twice(groups: Sequence[Recorded]) -> str:
    """Which sessions share a host, or a boot within a day, and what that means for counts."""
    counts = Counter(replicates(groups).values())
    hosts = {group.number: group.run.node for group in groups}
    several = [
        f"{hosts[number]} carried out {count}"
        if hosts[number]
        else f"session {number} and {count - 1} after it lie in one boot, less than {APART_H:g} h "
        "apart"
        for number, count in counts.items()
        if count > 1
    ]
    return f"{listed(several)}: that counts once. " if several else ""


def _warnings(groups: Sequence[Recorded], comparisons: Sequence[OverSessions]) -> Iterator[Notice]:
    """What stands above verdicts over sessions: a narrow scope, days that resemble each other."""
    if groups[0].plan.design.sessions >= FEWEST and len({*replicates(groups).values()}) < FEWEST:
        text = f"The verdicts {_holds_for(groups)}"
        yield Notice(severity="warning", text=text, above=True)
    if following := [one.following for one in comparisons if one.following]:
        yield Notice(severity="warning", text=following[0], above=True)


def _lines(groups: Sequence[Recorded]) -> Iterator[SessionLine]:
    before = None
    for group in groups:
        run, plan = group.run, group.plan
        blocks = len(progress_of(plan, run).counted)
        state = run.stopped or f"{part_of(blocks, len(plan.blocks), 'block')} done"
        yield SessionLine(
            number=group.number,
            planned=group.number <= groups[0].plan.design.sessions,
            began=run.began,
            boots=run.boots,
            apart=_apart(before, group) if before and group.is_begun else "",
            blocks=blocks,
            state=state if group.is_begun else "not begun",
            seal=run.seal,
            node=run.node,
        )
        before = group


def _apart(before: Recorded, group: Recorded) -> str:
    """What sets a session apart from the one before."""
    if group.run.node:
        return f"host {group.run.node}"
    began, ended = map(datetime.fromisoformat, (group.run.began, before.run.ended))
    later = f"{format_number((began - ended).total_seconds() / _HOUR_S, 2)} h later"
    if not group.run.boots or not before.run.boots:
        return later
    same = group.run.boots[0] in before.run.boots
    return f"{'the same' if same else 'another'} boot, {later}"


@dataclass(frozen=True)
class _Seen:
    """What there is of the sessions that are done."""

    plan: Plan
    """Of the first one, with the blocks of all."""
    sessions: IntArray
    """Shape (blocks,): the session of each block."""
    units: IntArray
    """The same, of what counts: sessions that share a host, or a boot and day, are one."""
    named: list[tuple[str, Quantity]]
    """The index of each workload over all of these blocks."""
    labels: dict[int, str]
    """Session → its host; its number where that is this one, or has carried out several."""
    placed: bool
    lost: int
    """Sessions that were given up with their hosts, and begun anew on others."""
    to_come: int
    """Planned sessions that are not done."""

    @property
    def noun(self) -> str:
        """What a session is."""
        return "hosts" if self.placed else "sessions"

    @property
    def rope(self) -> float:
        """The equivalence margin, of log ratios."""
        return math.log1p(self.plan.design.equivalent_within)

    def by_session(self, values: FloatArray) -> dict[int, FloatArray]:
        """Session → its values, of one for each block, nan where there is none."""
        return _grouped(values, self.sessions)

    def apart(self, own: dict[int, FloatArray], family: int) -> list[tuple[int, OutlyingGroup]]:
        """Sessions that lie apart, of so many comparisons that are looked at together."""
        numbers = [*own]
        found = outlying_groups([*own.values()], self.rope, HEADLINE_LEVEL / family)
        return [(numbers[one.group], one) for one in found]


def _grouped(values: FloatArray, numbers: IntArray) -> dict[int, FloatArray]:
    """Number → the values that there are of it."""
    usable = np.isfinite(values)
    return {int(n): values[usable & (numbers == n)] for n in np.unique(numbers[usable])}


def _seen(over: Sequence[Recorded], units: Mapping[int, int]) -> _Seen | None:
    if not over:
        return None
    first = over[0].plan
    plan, run = pooled(over)
    plan = plan.model_copy(update={"design": first.design})
    run = without_replaced_blocks(run, progress_of(plan, run))
    measured = [collect(plan, run, workload) for workload in plan.workloads]
    found = [quantities for own in measured if (quantities := quantities_of(own))]
    number = session_of(plan)
    hosts = Counter(group.run.node for group in over if group.run.node)
    return _Seen(
        plan=plan,
        sessions=np.array([number[block] for block in measured[0].blocks]),
        units=np.array([units[number[block]] for block in measured[0].blocks]),
        named=[(own.measured.workload.spec.name, own.index) for own in found],
        labels={
            group.number: group.run.node
            if hosts[group.run.node] == 1
            else f"session {group.number}"
            for group in over
        },
        placed=first.placement is not None,
        lost=sum(len(group.run.lost) for group in over),
        to_come=max(0, first.design.sessions - len(over)),
    )


def _levels(seen: _Seen) -> Iterator[SessionLevel]:
    """How far values differ between sessions, and which of these are slow or fast."""
    for name, quantity in seen.named:
        own = seen.by_session(quantity.log_values.mean(axis=1))
        if len(own) < 2:
            continue
        spread = spread_between([*own.values()])
        apart = seen.apart(own, len(seen.named))
        yield SessionLevel(
            workload=name,
            topic=quantity.topic,
            apart=tuple(_stated(number, one) for number, one in apart),
            sd_between=math.sqrt(spread.between),
            sd_between_low=math.sqrt(spread.low),
            sd_between_high=math.sqrt(spread.high),
            sentence=" ".join(
                (
                    _spread(f"{quantity.topic}: values of", len(own), spread, seen.noun),
                    *_slow(seen, quantity, apart),
                )
            ),
        )


def _stated(number: int, one: OutlyingGroup) -> SessionApart:
    low, middle, high = (math.exp(log) for log in (one.low, one.mean - one.others, one.high))
    return SessionApart(session=number, ratio=middle, low=low, high=high, turned=one.turned)


def _slow(
    seen: _Seen, quantity: Quantity, apart: Sequence[tuple[int, OutlyingGroup]]
) -> Iterator[str]:
    """Sessions whose values are others over all systems."""
    for number, one in apart[:_NAMED]:
        low, middle, high = map(math.exp, (one.low, one.mean - one.others, one.high))
        scale = scale_of_difference(low, high)
        word = "faster" if (middle > 1) == (quantity.direction == "higher") else "slower"
        if quantity.direction == "lower":
            word = f"{'higher' if middle > 1 else 'lower'} ({word})"
        size = f"{scale.amount(middle)} " + ("that" if scale.factor else f"{word} than")
        yield (
            f"{seen.labels[number]} is {size} the others over all systems (simultaneous 95 % CI "
            f"{compatible(low, high)}). Systems are compared within it: no verdict rests on that."
        )
    yield from _more(apart)


def _disagreeing(seen: _Seen, apart: Sequence[tuple[int, OutlyingGroup]]) -> Iterator[str]:
    """Sessions in which a comparison comes out otherwise."""
    for number, one in apart[:_NAMED]:
        here, there = (
            ratio(mean, mean - one.reach, mean + one.reach) for mean in (one.mean, one.others)
        )
        way = ", the other way round" if one.turned else ""
        yield (
            f"{seen.labels[number]} disagrees: {here} there, {there} on the others{way} (between "
            f"them simultaneous 95 % CI {compatible(math.exp(one.low), math.exp(one.high))})."
        )
    yield from _more(apart)


def _more(apart: Sequence[tuple[int, OutlyingGroup]]) -> Iterator[str]:
    if len(apart) > _NAMED:
        yield f"{len(apart) - _NAMED} more lie apart."


def _over_sessions(seen: _Seen, design: Design) -> Iterator[OverSessions]:
    """Every headline comparison over the sessions that are done."""
    systems = [system.name for system in seen.plan.systems]
    pairs = list(pairs_of(systems, seen.plan.baseline))
    if not seen.named or not pairs:
        return
    quantities = [quantity for _, quantity in seen.named]
    differences, failed = paired(quantities, pairs)
    asked = rows_of(quantities, systems, pairs)
    judged = _judged(*asked, differences, failed, seen, design)
    family = Family.of(judged, HOLM)
    names = [name for name, _ in seen.named for _ in pairs]
    for name, contrast, row in zip(names, judged, differences, strict=True):
        yield _told(name, contrast, row, seen, design, family)


def _judged(
    quantities: Sequence[Quantity],
    sides: Sequence[tuple[str, str]],
    differences: FloatArray,
    failed: BoolArray,
    seen: _Seen,
    design: Design,
) -> Contrasts:
    """The family over sessions; sessions beyond a look that is spent count for nothing."""
    last = design.looks[-1].blocks
    means, broken = by_session(differences, failed, seen.units)
    means, broken = means[:, :last], broken[:, :last]
    to_come = seen.to_come
    if design.sessions < FEWEST:
        to_come = last - int((np.isfinite(means) | broken).any(axis=0).sum())
    rows = (quantities, sides, means, broken)
    return judge_rows(*rows, design, holm, HEADLINE_LEVEL, True, to_come)


def _told(
    name: str,
    contrast: Contrast,
    differences: FloatArray,
    seen: _Seen,
    design: Design,
    family: Family,
) -> OverSessions:
    """One comparison over sessions."""
    own = seen.by_session(differences)
    apart = seen.apart(own, family.size)
    pair = f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}"
    spread = spread_between(list(own.values())) if len(own) > 1 else None
    interval = contrast.interval
    means = np.array([found.mean() for found in _grouped(differences, seen.units).values()])
    following = "" if seen.placed else _following(pair, means, family.size, seen.plan.seed)
    return OverSessions(
        workload=name,
        topic=contrast.quantity.topic,
        system=contrast.system,
        against=contrast.against,
        values=tuple(
            SessionValue(session=n, blocks=len(found), ratio=math.exp(float(found.mean())))
            for n, found in own.items()
        ),
        sessions=interval.blocks if interval else 0,
        ratio=math.exp(interval.estimate) if interval else None,
        low=math.exp(interval.low) if interval else None,
        high=math.exp(interval.high) if interval else None,
        level=interval.level if interval else 1 - HEADLINE_LEVEL,
        p_adjusted=contrast.p_adjusted,
        verdict=contrast.verdict,
        sentence=" ".join(
            filter(
                None,
                (
                    _spread(f"{pair}:", len(own), spread, seen.noun) if spread else "",
                    *_disagreeing(seen, apart),
                    _verdict(contrast, len(means), design, family),
                    following,
                    _if_lost(contrast, means, seen.lost),
                ),
            )
        ),
        sd_within=None if spread is None or math.isnan(spread.within) else math.sqrt(spread.within),
        sd_between=math.sqrt(spread.between) if spread else None,
        sd_between_low=math.sqrt(spread.low) if spread else None,
        sd_between_high=math.sqrt(spread.high) if spread else None,
        apart=tuple(_stated(number, one) for number, one in apart),
        following=following,
    )


def _following(pair: str, means: FloatArray, family: int, seed: int) -> str:
    """That sessions which follow each other resemble each other; verdicts take them as unlike.

    By permutation of the lag-1 autocorrelation of the means, corrected for the comparisons.
    """
    if len(means) < FEWEST:
        return ""
    p = permutation_p(lag_one, means, seed)
    if p * family > HEADLINE_LEVEL:
        return ""
    found = float(lag_one(means[None, :])[0])
    return (
        f"{pair}: sessions that follow each other resemble each other (lag-1 autocorrelation "
        f"{found:+.2f}, {p_text(p)}): {len(means)} of them tell less than {len(means)} days that "
        "have nothing in common, so the interval over sessions is too narrow."
    )


def _if_lost(contrast: Contrast, means: FloatArray, lost: int) -> str:
    """The interval that holds if sessions that were lost had been like the most extreme ones."""
    interval = contrast.interval
    if not lost or interval is None:
        return ""
    low, high = bounds_if_lost(means, lost, interval.level)
    return (
        f"{count_of(lost, 'session was', 'sessions were')} lost with the host: had "
        f"{agreeing(lost, 'it', 'they')} been as far either way as the farthest of the others, "
        f"{compatible(math.exp(low), math.exp(high))}."
    )


def bounds_if_lost(means: FloatArray, lost: int, level: float) -> tuple[float, float]:
    """The ends with so many more sessions, each as far below or above zero as any that is there."""
    c, farthest = largest_c(len(means) + lost, 1 - level), abs(means).max()
    worst = (np.full(lost, end) for end in (-farthest, farthest))
    low, high = (signed_rank(np.append(means, own), c) for own in worst)
    return low.low, high.high


def _spread(what: str, sessions: int, spread: Spread, noun: str) -> str:
    """How far sessions differ beyond what their blocks explain."""
    between, low, high = (
        format_number(100 * math.sqrt(variance), 2)
        for variance in (spread.between, spread.low, spread.high)
    )
    within = (
        ""
        if math.isnan(spread.within)
        else f", blocks of one {noun[:-1]} by {format_number(100 * math.sqrt(spread.within), 2)} %"
    )
    return (
        f"{what} {sessions} {noun} differ by {between} % (standard deviation, 95 % CI "
        f"{low} to {high} %){within}."
    )


def _verdict(contrast: Contrast, sessions: int, design: Design, family: Family) -> str:
    """The verdict over sessions; of few ones that it is open, and why."""
    if contrast.interval is not None or contrast.verdict == "invalid":
        text = sentence(contrast, design, family)
        return f"Over sessions: {text}"
    first = family.first_look(design)
    pair = f"{contrast.system} and {contrast.against} differ"
    if first is None:
        return (
            f"Whether {pair} in other sessions stays open: "
            f"{count_of(design.looks[-1].blocks, 'session is', 'sessions are')} "
            f"too few for {family.size} simultaneous intervals."
        )
    return (
        f"Whether {pair} in other sessions is open: {sessions} of the "
        f"{count_of(first, 'session')} that a "
        "verdict over sessions needs."
    )
