"""The same thing, stated in two places; numbers may have commas between their thousands."""

import re
from typing import Final

from pydantic import Field

from tiltyard.frozen import Frozen
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Names, Scene, UnfitError

_COMMA: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")


class States(Frozen):
    """What is stated twice."""

    says: Names = Field(min_length=1, description="As it stands where the claim is.")
    elsewhere: Names = Field(min_length=1, description="As it stands in the other place.")
    place: str = Field(description="The other place: `figure 8`.")


def _hold(states: States, _scene: Scene) -> Held:
    if len(states.says) != len(states.elsewhere):
        raise UnfitError("elsewhere", "both places must have equally many parts")
    pairs = list(zip(states.says, states.elsewhere, strict=True))
    differing = [(here, there) for here, there in pairs if _plain(here) != _plain(there)]
    told = "; ".join(f"“{here}” here, “{there}” in {states.place}" for here, there in differing)
    one = len(pairs) == 1
    return Held(
        "contradicted" if differing else "follows",
        states.says[0] if one else f"{len(pairs)} times the same",
        states.elsewhere[0] if one else f"{len(pairs) - len(differing)} of {len(pairs)} the same",
        f"{told}." if told else f"The same stands in: {states.place}.",
    )


def _plain(text: str) -> str:
    return _COMMA.sub("", text)


KIND = Kind(
    name="same",
    about="one thing that is stated in two places",
    states=States,
    hold=_hold,
)
