"""The largest of several advantages: "by as much as"."""

from pydantic import Field

from tiltyard.collected.stated import Number, Stated
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.kinds.advantage import advantage, twice
from tiltyard_published.audit.kinds.mean import Mean
from tiltyard_published.audit.outcomes import equal
from tiltyard_published.audit.scene import Scene, Where


class States(Where):
    """A largest advantage that is stated."""

    percent: Number = Field(description="As printed, without the sign of percent.")
    system: str = Field(description="The one that is ahead.")
    against: str = Field(description="The one that it is compared with.")
    of: Mean = Field(description="The means of each workload that are compared.")


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system, against=states.against)
    found = {
        workload.name: advantage(
            scene,
            scene.places(states.model_copy(update={"workload": (workload.name,)})),
            states.system,
            states.against,
            states.of,
        )
        for workload in scene.workloads(states)
    }
    name, most = max(found.items(), key=lambda pair: pair[1].value)
    stated = Stated(states.percent)
    digits = stated.decimals + 2
    told = ", ".join(f"{one.value:.{digits}f} % {place}" for place, one in found.items())
    return Held(
        equal(stated, most),
        f"{states.percent} % at the most",
        f"{stated.digits_of(most.value)} % ({name})",
        f"{states.system} is ahead of {states.against} by {told}{twice(most, stated)}.",
    )


KIND = Kind(
    name="extreme",
    about="the largest of the advantages in several workloads: “by as much as”",
    states=States,
    hold=_hold,
)
