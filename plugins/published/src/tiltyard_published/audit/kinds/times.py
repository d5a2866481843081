"""How many times as much one system yields as another, at every point of a stretch."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from tiltyard.collected.audited import Outcome
from tiltyard.collected.stated import Number, Span, Stated
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import best, worst
from tiltyard_published.audit.printed import printed_number
from tiltyard_published.audit.scene import Place, Scene, Where
from tiltyard_published.audit.words import Bound, Word

Reading = Literal["as much", "more"]
_NAMES: Final[dict[Reading, str]] = {"as much": "the ratio", "more": "the ratio less 1"}


class States(Where):
    """A multiple that is stated."""

    times: Number = Field(description="The number; `2` for *two times* and for *twice*.")
    word: Word = Field(description="What the number is: a bound, or near it.")
    reading: Reading = Field(
        description="`as much`: the ratio. `more`: the ratio or what it is above 1, either will do."
    )
    system: str = Field(description="The one that yields more.")
    against: str = Field(description="The one that it is compared with.")


@dataclass(frozen=True)
class _Point:
    """One place, and how many times as much there is of one system as of the other."""

    place: Place
    ratio: Span
    quotient: str
    """Of which printed numbers it is: ``9,301.49 / 3,202.70 = ``; empty of what is less by 1."""

    @property
    def told(self) -> str:
        return f"{self.quotient}{self.ratio.value:.2f} ({self.place.label or self.place.topic})"


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system, against=states.against)
    points = _points(states, scene)
    bound = Bound(states.word, Stated(states.times))
    less = [replace(point, ratio=point.ratio.plus(-1), quotient="") for point in points]
    readings: dict[Reading, list[_Point]] = {"as much": points}
    if states.reading == "more":
        readings["more"] = less
    outcome = best(_outcome(bound, reading) for reading in readings.values())
    told = "; ".join(f"{_NAMES[name]} is {_course(bound, own)}" for name, own in readings.items())
    other = ""
    if outcome == "contradicted" and states.reading == "as much":
        other = _as_more(bound, less)
    return Held(
        outcome,
        f"{bound.text} times {states.reading}",
        "; ".join(f"{_extent(own)} times {name}" for name, own in readings.items()),
        f"Of {states.system} against {states.against}, {told} ({bound.text}){other}.",
    )


def _points(states: States, scene: Scene) -> list[_Point]:
    places = scene.places(states)
    spans = scene.spans(places, states.system)
    against = scene.spans(places, states.against)
    found = []
    for place, first, second in zip(places, spans, against, strict=True):
        over, under = (second, first) if place.metric.direction == "lower" else (first, second)
        numbers = (printed_number(one.value, place.metric) for one in (over, under))
        found.append(_Point(place, over.over(under), f"{' / '.join(numbers)} = "))
    return found


def _as_more(bound: Bound, less: list[_Point]) -> str:
    """What a claim of *as much* would be if it meant *more*, where that would hold."""
    if _outcome(bound, less) == "contradicted":
        return ""
    return (
        f"; the ratio less 1, {_extent(less)}, would fit, but it says how much more, not how much"
    )


def _outcome(bound: Bound, found: list[_Point]) -> Outcome:
    """At every point; of a largest value, for the largest."""
    if bound.word == "up to":
        return bound.holds(max((point.ratio for point in found), key=lambda ratio: ratio.value))
    return worst(bound.holds(point.ratio) for point in found)


def _course(bound: Bound, found: list[_Point]) -> str:
    """``2.90 (65,507 B message) to 3.69 (2 KiB message), which meets it at 0 of 8 points``."""
    least, most = (pick(found, key=lambda point: point.ratio.value) for pick in (min, max))
    if len(found) == 1:
        return f"{least.quotient}{least.ratio.value:.3f} ({least.place.topic})"
    if bound.word == "up to":
        return f"{most.told} at the most"
    meeting = sum(bound.holds(point.ratio) != "contradicted" for point in found)
    return (
        f"{least.told} to {most.told}, which meets it at {meeting} of "
        f"{count_of(len(found), 'point')}"
    )


def _extent(found: list[_Point]) -> str:
    values = [point.ratio.value for point in found]
    ends = dict.fromkeys(f"{value:.2f}" for value in (min(values), max(values)))
    return " to ".join(ends)


KIND = Kind(
    name="times",
    about="how many times as much (or more) one system yields, at every point of a stretch",
    states=States,
    hold=_hold,
)
