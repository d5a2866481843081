"""Numbers of a table that the text, or another table, gives again."""

from pydantic import Field

from tiltyard.collected.stated import Numbers, Stated
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import equal, worst
from tiltyard_published.audit.printed import printed_value
from tiltyard_published.audit.scene import Scene, UnfitError, Where


class States(Where):
    """Numbers that are given again."""

    number: Numbers = Field(
        min_length=1,
        description="As printed, in the unit of the tables; a list in the order of the tables.",
    )
    system: str = Field(description="Whose they are.")


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system)
    places = scene.places(states)
    if len(places) != len(states.number):
        given = (
            f"{count_of(len(states.number), 'number is', 'numbers are')} given for "
            f"{count_of(len(places), 'place')}"
        )
        raise UnfitError("number", given)
    found = []
    for place, text, span in zip(
        places, states.number, scene.spans(places, states.system), strict=True
    ):
        factor = place.metric.printed.factor if place.metric.printed else 1.0
        found.append((place, text, equal(Stated(text), span.times(1 / factor)), span))
    others = [one for one in found if one[2] == "contradicted"]
    told = ", ".join(
        f"{place.topic}: {text} against {printed_value(span.value, place.metric)}"
        for place, text, _, span in others
    )
    first, one = found[0], len(found) == 1
    return Held(
        worst(outcome for _, _, outcome, _ in found),
        first[1] if one else count_of(len(found), "number"),
        printed_value(first[3].value, first[0].metric)
        if one
        else f"{len(found) - len(others)} of {len(found)} equal",
        f"{told or 'The tables have the same'} ({states.system}).",
    )


KIND = Kind(
    name="quoted",
    about="numbers of a table that stand in the text, or in another table, again",
    states=States,
    hold=_hold,
)
