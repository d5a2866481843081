"""Who is better than whom: on average, or point by point."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from tiltyard.collected.audited import Outcome
from tiltyard.collected.stated import Span, geometric_mean
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import above, worst
from tiltyard_published.audit.scene import AbsentError, Names, Place, Scene, Where, positive
from tiltyard_published.audit.words import MUCH_PERCENT, signed

_FEW: Final = 3

Share = Literal["on average", "everywhere", "mostly", "somewhere"]


class States(Where):
    """An order that is stated."""

    better: Names = Field(min_length=1, description="The systems that are better.")
    than: Names = Field(min_length=1, description="Than each of these.")
    holds: Share = Field(
        "on average",
        description="`on average`: by the geometric mean over the points of each workload. The "
        "others: at every point, at more than half of them, at one of them.",
    )
    much: bool = Field(False, description=f"By {MUCH_PERCENT:g} % or more.")


@dataclass(frozen=True)
class _Lead:
    """How far one system is ahead of another at one place, as a ratio above or below 1."""

    better: str
    than: str
    place: Place
    ratio: Span


def _hold(states: States, scene: Scene) -> Held:
    scene.check(better=states.better, than=states.than)
    leads = list(_leads(states, scene))
    if not leads:
        raise AbsentError("better", "nowhere is there a number of both")
    least = 1 + MUCH_PERCENT / 100 if states.much else 1.0
    outcomes = [above(lead.ratio, least) for lead in leads]
    behind = [lead for lead, own in zip(leads, outcomes, strict=True) if own == "contradicted"]
    by = f"by {MUCH_PERCENT:g} % or more" if states.much else "ahead"
    said = f"{by} at {len(leads) - len(behind)} of {count_of(len(leads), 'point')}"
    if states.holds == "on average":
        averages = list(_averages(leads))
        name, lowest = min(averages, key=lambda pair: pair[1].value)
        said = f"on average {signed(lowest)} ({name}) at the least; {said}"
        outcome = worst(above(ratio, least) for _, ratio in averages)
    else:
        outcome = _at_points(outcomes, states.holds)
    degree = "much better" if states.much else "better"
    return Held(
        outcome,
        f"{degree} {states.holds}",
        said,
        f"{_joined(states.better)} against {_joined(states.than)}: {said}{_exceptions(behind)}.",
    )


def _at_points(outcomes: list[Outcome], holds: Share) -> Outcome:
    """Of all, of more than half, or of one of them."""
    if holds == "everywhere":
        return worst(outcomes)
    enough = len(outcomes) / 2 if holds == "mostly" else 0
    if outcomes.count("follows") > enough:
        return "follows"
    possible = len(outcomes) - outcomes.count("contradicted")
    return "rounding" if possible > enough else "contradicted"


def _leads(states: States, scene: Scene) -> Iterator[_Lead]:
    for place in scene.places(states):
        turned = place.metric.direction == "lower"
        for better in states.better:
            for than in states.than:
                own, other = scene.span(place, better), scene.span(place, than)
                if own is not None and other is not None:
                    own, other = positive(own, better, place), positive(other, than, place)
                    ratio = other.over(own) if turned else own.over(other)
                    yield _Lead(better, than, place, ratio)


def _averages(leads: list[_Lead]) -> Iterator[tuple[str, Span]]:
    """The geometric mean of each pair in each workload."""
    groups: dict[tuple[str, str, str], list[Span]] = {}
    for lead in leads:
        pair = (lead.better, lead.than, lead.place.workload.name)
        groups.setdefault(pair, []).append(lead.ratio)
    for (better, than, workload), ratios in groups.items():
        yield f"{better} against {than}, {workload}", geometric_mean(ratios)


def _exceptions(behind: list[_Lead]) -> str:
    """The largest of those that go against it."""
    if not behind:
        return ""
    worst_first = sorted(behind, key=lambda lead: lead.ratio.value)[:_FEW]
    told = ", ".join(
        f"{lead.better} against {lead.than} {signed(lead.ratio)} ({lead.place.topic})"
        for lead in worst_first
    )
    return f"; not at {len(behind)}, the farthest {told}"


def _joined(names: tuple[str, ...]) -> str:
    return " and ".join(names)


KIND = Kind(
    name="order",
    about="which systems are better than which: on average, everywhere, mostly or somewhere",
    states=States,
    hold=_hold,
)
