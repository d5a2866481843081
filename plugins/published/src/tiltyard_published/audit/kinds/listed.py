"""That something is among what is listed."""

from pydantic import Field

from tiltyard.frozen import Frozen
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Names, Scene


class States(Frozen):
    """Something that is referred to."""

    item: str = Field(description="As the claim names it.")
    among: Names = Field(min_length=1, description="What is listed, as printed.")
    place: str = Field(description="Where it is listed.")


def _hold(states: States, _scene: Scene) -> Held:
    there = states.item in states.among
    ends = f"{states.among[0]} … {states.among[-1]}"
    named = ", ".join(states.among) if len(states.among) <= 8 else ends
    return Held(
        "follows" if there else "contradicted",
        states.item,
        named,
        f"{states.place} has {'it' if there else f'no “{states.item}”'}: {named}.",
    )


KIND = Kind(
    name="listed",
    about="that something the text refers to is where it says",
    states=States,
    hold=_hold,
)
