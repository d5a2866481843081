"""How many percent one system is ahead of another."""

from typing import Final

from pydantic import Field

from tiltyard.collected.stated import Number, Span, Stated
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.kinds.mean import NAMES, Mean, mean_of
from tiltyard_published.audit.outcomes import best, equal, rounded_twice
from tiltyard_published.audit.printed import printed_value
from tiltyard_published.audit.scene import Place, Scene, UnfitError, Where
from tiltyard_published.derived import Derived

_DIGITS: Final = 2
"""More than are stated, where the last stated one is in question."""


class States(Where):
    """An advantage that is stated."""

    percent: Number = Field(description="As printed, without the sign of percent.")
    system: str = Field(description="The one that is ahead.")
    against: str = Field(description="The one that it is compared with.")
    of: Mean | None = Field(None, description="Of which means; by default of the one number there.")


def advantage(
    scene: Scene, places: list[Place], system: str, against: str, of: Mean | None
) -> Span:
    """In percent: of a rate system / against − 1, of a time 1 − system / against."""
    if of is None and len(places) != 1:
        raise UnfitError(
            "at", f"{count_of(len(places), 'number')} are meant: name one point, or of which mean"
        )
    own, other = (
        mean_of(of or "geometric-mean", scene, places, name) for name in (system, against)
    )
    return _ahead(own, other, places)


def _ahead(own: Span, other: Span, places: list[Place]) -> Span:
    ratio = own.over(other)
    if places[0].metric.direction == "lower":
        ratio = ratio.times(-1).plus(2)
    return ratio.plus(-1).times(100)


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system, against=states.against)
    places = scene.places(states)
    found = advantage(scene, places, states.system, states.against, states.of)
    stated = Stated(states.percent)
    outcome, nearest, beside = equal(stated, found), found, ""
    means = _printed_means(states, scene, places)
    if means is not None:
        own, other = (Stated(mean.text) for mean in means)
        again = _ahead(own.span, other.span, places)
        if best((outcome, equal(stated, again))) != outcome:
            outcome, nearest = equal(stated, again), again
        beside = (
            f"; from the printed means, {own.digits_of(own.value)} and "
            f"{other.digits_of(other.value)}, {again.value:,.{stated.decimals + _DIGITS}f} %"
        )
    remarks = beside + twice(nearest, stated) + _elsewhere(states, scene)
    return Held(
        outcome,
        f"{states.percent} %",
        f"{stated.digits_of(nearest.value)} %",
        f"From {_basis(states, scene, places)}, {states.system} is "
        f"{found.value:,.{stated.decimals + _DIGITS}f} % ahead of {states.against} "
        f"({_rounded(found, stated)}){remarks}.",
    )


def _basis(states: States, scene: Scene, places: list[Place]) -> str:
    """What was calculated with: ``the geometric means``, or a topic and its two numbers."""
    if states.of:
        return f"the {NAMES[states.of]}s"
    own, other = (
        printed_value(scene.spans(places, name)[0].value, places[0].metric)
        for name in (states.system, states.against)
    )
    return f"{places[0].topic}, {own} against {other}"


def _printed_means(
    states: States, scene: Scene, places: list[Place]
) -> tuple[Derived, Derived] | None:
    """What a table prints as the means of just these numbers, if it does so of both systems.

    None if one of them may be zero: it has no ratio.
    """
    topics = {(place.workload.name, place.metric.name) for place in places}
    if states.of is None or states.at or len(topics) > 1:
        return None
    known = {
        one.system: one
        for one in scene.derived
        if one.kind == states.of
        and (one.workload, one.metric) in topics
        and Stated(one.text).span.low > 0
    }
    own, other = known.get(states.system), known.get(states.against)
    return None if own is None or other is None else (own, other)


def _rounded(found: Span, stated: Stated) -> str:
    digits = stated.decimals + _DIGITS
    low, high = (f"{bound:,.{digits}f}" for bound in (found.low, found.high))
    if low == high:
        return "the rounding of the printed numbers changes nothing of that"
    return f"{low} to {high}, whatever the printed numbers were rounded of"


def twice(found: Span, stated: Stated) -> str:
    """How a last digit came about by rounding twice, as the end of a sentence; or nothing."""
    once = rounded_twice(stated, found)
    return f"; rounded to {once} and then again it becomes {stated.text}" if once else ""


def _elsewhere(states: States, scene: Scene) -> str:
    """What a table of the study prints for the same, where that is another number."""
    other = next((one for one in scene.derived if _same(one, states)), None)
    if other is None or other.text == states.percent:
        return ""
    return f"; {other.where} prints {other.text} %"


def _same(one: Derived, states: States) -> bool:
    return (
        one.kind == "advantage"
        and (one.system, one.against, one.of) == (states.system, states.against, states.of)
        and states.workload == (one.workload,)
        and one.at == states.at
    )


KIND = Kind(
    name="advantage",
    about="by how many percent one system is ahead of another, at one point or of a mean",
    states=States,
    hold=_hold,
)
