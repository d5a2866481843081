"""Table ``[tuned]``: a profile of the host's own tuned(8), where it is installed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from tiltyard.host import tuned
from tiltyard.host.place import Place
from tiltyard.host.settings import SetByCommand
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Scene, Setting

_NONE = "none"
_DOES_NOT = "tuned-adm does not make it active"


class TunedTable(KnobTable):
    """As tuned-adm(8) knows it."""

    profile: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")] = Field(
        description='Profile that tuned-adm makes active: "throughput-performance".'
    )


@dataclass(frozen=True)
class ActiveProfile(Setting):
    """The one that is active."""

    place: Place
    profile: str
    name: str = "profile of tuned-adm"

    def read(self) -> str:
        """Its name."""
        if not self.place.has("tuned-adm"):
            raise LackError("tuned-adm is not installed")
        return self.place.run(tuned.LOOK).stdout or _NONE

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """The profile."""
        return self.profile

    def step(self, before: str, wanted: str) -> SetByCommand:
        """Make it active."""
        was = "" if before == _NONE else before
        return SetByCommand(
            what=self.name,
            argv=tuned.command(wanted),
            look=tuned.LOOK,
            before=was,
            value=wanted,
            back=tuned.command(was),
            skip=True,
            address=self.place.address,
        )

    def why_not_set(self, now: str, wanted: str, said: str) -> str:
        """As tuned-adm says it."""
        return super().why_not_set(now, wanted, said) if said else _DOES_NOT


def _settings(table: TunedTable, scene: Scene) -> Iterator[ActiveProfile]:
    yield ActiveProfile(scene.place, table.profile)


KNOB = Knob(
    name="tuned",
    about="a profile of the host's own tuned, where it is installed",
    Table=TunedTable,
    of="host",
    settings=_settings,
)
