"""What nothing that is printed can decide."""

from typing import Final, Literal

from pydantic import Field

from tiltyard.frozen import Frozen
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Scene

Lack = Literal["numbers", "repetitions", "spread", "parts", "method"]
_LACKS: Final[dict[Lack, str]] = {
    "numbers": "no numbers are printed for it",
    "repetitions": "the single runs are not printed",
    "spread": "neither spread nor interval is printed",
    "parts": "what it is made of is not printed",
    "method": "how it was done is not described in enough detail",
}


class States(Frozen):
    """A claim without its data."""

    lacks: Lack = Field(description="What would be needed.")
    because: str = Field(description="What is there instead; a sentence without its full stop.")


def _hold(states: States, _scene: Scene) -> Held:
    return Held("open", "", "", f"Not verifiable: {_LACKS[states.lacks]}. {states.because}.")


KIND = Kind(
    name="undecidable",
    about="a claim that nothing printed can decide, and what it lacks",
    states=States,
    hold=_hold,
)
