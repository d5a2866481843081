"""Table ``[tuned]``: a profile of the host's own tuned(8), where it is installed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from tiltyard.errors import TiltyardError
from tiltyard.host import tuned
from tiltyard.host.changes import Change
from tiltyard.host.changes.tuning import SetTunedProfile
from tiltyard.host.place import Place
from tiltyard.host.steps import ChangeByCommand
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Scene, Setting

_NONE = "none"


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
        return tuned.active(self.place) or _NONE

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """The profile."""
        return self.profile

    def is_same(self, change: Change) -> bool:
        """There is one on a host."""
        return isinstance(change, SetTunedProfile) and change.ssh == self.place.ssh

    def step(self, before: str, wanted: str) -> ChangeByCommand:
        """Make it active."""
        was = "" if before == _NONE else before
        return ChangeByCommand(
            argv=self.place.argv(("tuned-adm", "profile", wanted)),
            change=SetTunedProfile(before=was, value=wanted, ssh=self.place.ssh),
        )

    def why_not_set(self, now: str, wanted: str, error: TiltyardError | None) -> str:
        """As tuned-adm says it."""
        said = super().why_not_set(now, wanted, error) if error else ""
        return said or "tuned-adm does not make it active"


def _settings(table: TunedTable, scene: Scene) -> Iterator[ActiveProfile]:
    yield ActiveProfile(scene.place, table.profile)


KNOB = Knob(
    name="tuned",
    about="a profile of the host's own tuned, where it is installed",
    Table=TunedTable,
    of="host",
    settings=_settings,
)
