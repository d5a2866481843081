"""Several sessions of one study: what holds over them, and how far they differ.

A session is a group of blocks that share what a day or a boot is like. The difference of two
systems in a session is the mean of its blocks' log ratios; the verdict over sessions is by the
signed ranks of these, the family corrected like that of the headlines. Where the plan has enough
sessions it is *the* verdict of the study; else the verdicts hold for the blocks of these sessions,
and that over sessions stands beside them, judged by looks that are the same for every study.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast, by_session, judge_rows, paired
from tiltyard.analysis.findings import HEADLINE_LEVEL, analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.quantity import Quantity, collect, pairs_of
from tiltyard.analysis.session_model import OverSessions, SessionLine, Sessions, SessionValue
from tiltyard.analysis.statements.verdicts import HOLM, Family, sentence
from tiltyard.analysis.workload import quantities_of
from tiltyard.plan.model import Design, Plan
from tiltyard.plan.sessions import design_over_sessions, session_of
from tiltyard.run.course import course_of, without_replaced_blocks
from tiltyard.run.sessions import Recorded, pooled, seal_of
from tiltyard.stats.looks import FEWEST
from tiltyard.stats.multiple import holm
from tiltyard.stats.replication import Spread, spread_between
from tiltyard.stats.types import BoolArray, FloatArray, IntArray
from tiltyard.units import format_number

_HOUR_S: Final = 3600.0


def analyse_sessions(groups: Sequence[Recorded], others: int = 0) -> Findings:
    """All findings of a study of one session or several.

    The verdicts rest on the sessions that were planned; those that were added later count in what
    is said over sessions, and nowhere else.

    Args:
        groups: every session that has a plan, the first one first.
        others: headline comparisons of other studies that are corrected together with these.
    """
    first = groups[0].plan
    plan, run = pooled(groups[: first.design.sessions])
    findings = analyse(plan, run, others)
    if len(groups) == 1:
        return findings
    design = design_over_sessions(first.design)
    comparisons = tuple(_over_sessions(groups, design))
    return findings.model_copy(
        update={
            "plan_hash": first.hash,
            "seal": seal_of([group.run.seal for group in groups if group.is_begun]),
            "sessions": Sessions(
                planned=first.design.sessions,
                unit=plan.design.unit,
                sentence=_scope(first, groups),
                lines=tuple(_lines(groups)),
                comparisons=comparisons,
            ),
        }
    )


def _scope(first: Plan, groups: Sequence[Recorded]) -> str:
    """What the verdicts hold for."""
    design = first.design
    like = "other hosts of this kind" if first.placement else "other days and boots of this host"
    planned, over = design.sessions, sum(group.is_over for group in groups)
    added = len(groups) - planned
    beside = f", {added} of them added to the finished study" if added else ""
    done = f"{over} of {len(groups)} sessions are done{beside}. "
    lost = " ".join(f"{why}." for group in groups for why in group.run.lost)
    if planned >= FEWEST:
        return (
            f"{done}The verdicts go by the means of {planned} sessions and hold for sessions like "
            f"these: {like}. Further observations go by blocks, and hold for these sessions. "
            f"{lost}"
        ).strip()
    if first.placement:
        hosts = Counter(group.run.node for group in groups if group.run.node)
        twice = [f", but {node} carried out {n}" for node, n in hosts.items() if n > 1]
        which = f"Each is a host{''.join(twice)}; the verdicts hold for these"
        return f"{done}{which}, and from {FEWEST} on for hosts like them. {lost}".strip()
    looks = [look.blocks for look in design_over_sessions(design).looks]
    which = "the first session" if planned == 1 else f"these {planned} sessions"
    return (
        f"{done}The verdicts of the study hold for {which}. What holds for other days and boots is "
        f"said over sessions, by looks after {', '.join(map(str, looks[:-1]))} and {looks[-1]} of "
        "them that are the same for every study, so that adding one is no look that was not "
        "planned."
    )


def _lines(groups: Sequence[Recorded]) -> Iterator[SessionLine]:
    before = None
    for group in groups:
        run, plan = group.run, group.plan
        blocks = len(course_of(plan, run).counted)
        state = run.stopped or (f"{blocks} of {len(plan.blocks)} blocks are done")
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


def _over_sessions(groups: Sequence[Recorded], design: Design) -> Iterator[OverSessions]:
    """Every headline comparison over the sessions that are done."""
    over = [group for group in groups if group.is_over]
    if not over:
        return
    plan, sessions, named = _headlines(over)
    systems = [system.name for system in plan.systems]
    # Told against the baseline, as everywhere.
    pairs = [
        pair if systems[pair[0]] != plan.baseline else pair[::-1] for pair in pairs_of(systems)
    ]
    if not named or not pairs:
        return
    quantities = [quantity for _, quantity in named]
    differences, failed = paired(quantities, pairs)
    asked = [(n, q, systems[later], systems[earlier]) for n, q in named for later, earlier in pairs]
    judged = _judged(asked, differences, failed, sessions, design)
    claimed = sum(found.verdict in ("faster", "slower") for found in judged)
    family = Family(len(judged), HOLM, claimed)
    for (name, _, _, _), contrast, row in zip(asked, judged, differences, strict=True):
        yield _told(name, contrast, row, sessions, design, family)


def _judged(
    asked: Sequence[tuple[str, Quantity, str, str]],
    differences: FloatArray,
    failed: BoolArray,
    sessions: IntArray,
    design: Design,
) -> list[Contrast]:
    """The family over sessions; sessions beyond a look that is spent count for nothing."""
    last = design.looks[-1].blocks
    means, broken = by_session(differences, failed, sessions)
    means, broken = means[:, :last], broken[:, :last]
    to_come = last - int((np.isfinite(means) | broken).any(axis=0).sum())
    rows = [(quantity, system, against) for _, quantity, system, against in asked]
    return judge_rows(rows, means, broken, design, holm, HEADLINE_LEVEL, True, to_come)


def _headlines(over: Sequence[Recorded]) -> tuple[Plan, IntArray, list[tuple[str, Quantity]]]:
    """The index of each workload over all blocks of all sessions, and the session of each block."""
    first = over[0].plan
    plan, run = pooled(over)
    plan = plan.model_copy(update={"design": first.design})
    run = without_replaced_blocks(run, course_of(plan, run))
    measured = [collect(plan, run, workload) for workload in plan.workloads]
    found = [quantities for own in measured if (quantities := quantities_of(own))]
    number = session_of(plan)
    sessions = np.array([number[block] for block in measured[0].blocks])
    return plan, sessions, [(own.measured.workload.spec.name, own.index) for own in found]


def _told(
    name: str,
    contrast: Contrast,
    differences: FloatArray,
    sessions: IntArray,
    design: Design,
    family: Family,
) -> OverSessions:
    """One comparison over sessions."""
    usable = np.isfinite(differences)
    own = {
        int(number): differences[usable & (sessions == number)]
        for number in np.unique(sessions[usable])
    }
    spread = spread_between(list(own.values())) if len(own) > 1 else None
    interval = contrast.interval
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
                (_spread(contrast, len(own), spread), _verdict(contrast, len(own), design, family)),
            )
        ),
        sd_within=None if spread is None or math.isnan(spread.within) else math.sqrt(spread.within),
        sd_between=math.sqrt(spread.between) if spread else None,
        sd_between_low=math.sqrt(spread.low) if spread else None,
        sd_between_high=math.sqrt(spread.high) if spread else None,
    )


def _spread(contrast: Contrast, sessions: int, spread: Spread | None) -> str:
    """How far sessions differ beyond what their blocks explain."""
    pair = f"{contrast.system} against {contrast.against} in {contrast.quantity.topic}"
    if spread is None:
        return ""
    between, low, high = (
        format_number(100 * math.sqrt(variance), 2)
        for variance in (spread.between, spread.low, spread.high)
    )
    within = (
        ""
        if math.isnan(spread.within)
        else f", blocks of one session by {format_number(100 * math.sqrt(spread.within), 2)} %"
    )
    return (
        f"{pair}: {sessions} sessions differ by {between} % (standard deviation, 95 % CI "
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
            f"Whether {pair} in other sessions stays open: {design.looks[-1].blocks} sessions are "
            f"too few for {family.size} simultaneous intervals."
        )
    return (
        f"Whether {pair} in other sessions is open: {sessions} of the {first} sessions that a "
        "verdict over sessions needs."
    )
