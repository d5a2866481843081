"""A level above the block: the same plan carried out again, on another day or in another boot.

What a host is like today (the layout of its memory, its neighbours, its temperature) is shared by
all blocks of a session, so that more blocks do not average it out; more sessions do. Each session
has a plan, a journal and trials of its own, and blocks that no other one has. A later study of the
same systems, or the same study on another node, would be one more group of that kind.

From :data:`FEWEST` sessions on the session is what is replicated, and verdicts go by the signed
ranks of the sessions' means; fewer cannot show anything at 5 % by ranks, whatever they yield, and
verdicts hold for the blocks of these sessions.
"""

from collections.abc import Sequence
from typing import Final

from tiltyard.plan.model import Design, Look, Plan, Unit, spares_for
from tiltyard.plan.order import draw_blocks
from tiltyard.stats.looks import FEWEST
from tiltyard.stats.sequential import FIXED, looks, overall_alpha

BESIDE: Final = "standard"
"""Profile by whose looks sessions are judged that a plan has too few of: 7, 10, 14 and 20. It is
the same for every study, so that a session that is added leads to no look that was not planned."""


def session_plan(first: Plan, number: int) -> Plan:
    """The plan of a later session: further blocks of the same random order, each drawn by number.

    It has as many blocks as the first session has up to its first look, and one look after them.

    Args:
        first: the plan of the first session.
        number: 2 or more.
    """
    count = first.design.looks[0].blocks
    spares = spares_for(count) if first.spares else 0
    before = len(first.sequence) + (number - 2) * (count + spares)
    blocks = draw_blocks(
        [system.name for system in first.systems],
        [workload.spec.name for workload in first.workloads],
        before + count + spares,
        first.seed,
    )[before:]
    own = tuple(block.model_copy(update={"session": number}) for block in blocks)
    return first.model_copy(
        update={
            "session": number,
            "first_plan": first.hash,
            "design": _fixed(first.design, count, unit="block"),
            "blocks": own[:count],
            "spares": own[count:],
        }
    )


def pooled_plan(plans: Sequence[Plan]) -> Plan:
    """The blocks of several sessions as one plan, judged once all of them are there.

    Args:
        plans: the sessions as planned, the first one first.
    """
    first = plans[0]
    if len(plans) == 1:
        return first
    return first.model_copy(
        update={
            "design": pooled_design(first.design),
            "blocks": tuple(block for plan in plans for block in plan.blocks),
            "spares": tuple(block for plan in plans for block in plan.spares),
        }
    )


def pooled_design(design: Design) -> Design:
    """How all planned sessions are judged together, by that of one of them."""
    if design.sessions < FEWEST:
        return _fixed(design, design.sessions * design.looks[-1].blocks, unit="block")
    return _fixed(design, design.sessions, unit="session")


def design_over_sessions(design: Design) -> Design:
    """How the means of sessions are judged: as planned, or by the looks of every study."""
    if design.sessions >= FEWEST:
        return pooled_design(design)
    return _designed(design, BESIDE, None, "session")


def _fixed(design: Design, units: int, unit: Unit) -> Design:
    return _designed(design, FIXED, units, unit)


def _designed(design: Design, profile: str, units: int | None, unit: Unit) -> Design:
    asked = (profile, design.strict, units)
    return design.model_copy(
        update={
            "profile": profile,
            "looks": tuple(Look(blocks=blocks, c=c) for blocks, c in looks(*asked)),
            "alpha": overall_alpha(*asked),
            "futility": False,
            "unit": unit,
        }
    )


def session_of(plan: Plan) -> dict[int, int]:
    """Number of each block → the session that it belongs to."""
    return {block.number: block.session for block in plan.sequence}
