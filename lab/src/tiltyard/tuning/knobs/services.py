"""Table ``[services]``: services that do not run while a system is measured."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from tiltyard.host import services
from tiltyard.host.place import Place
from tiltyard.host.settings import SetByCommand
from tiltyard.study.problems import shown
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import ABSENT, LackError, Scene, Setting

_NAME = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@:-]*")
_COMM = 15
"""Letters of a program's name that the kernel keeps (TASK_COMM_LEN)."""
_WORDS = {"running": "running", "stopped": "stopped", "absent": ABSENT}


def _name(name: str) -> str:
    """What can be a name, and no option or shell's word."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{shown(name)} is not the name of a service")
    return name


Name = Annotated[str, AfterValidator(_name)]


class ServicesTable(KnobTable):
    """By the names that systemctl or service take."""

    stop: list[Name] = Field(
        [], description="Services to stop; one that is not on the host is stopped."
    )

    def over(self, earlier: "ServicesTable") -> "ServicesTable":
        """Those of both."""
        return ServicesTable(stop=list(dict.fromkeys([*earlier.stop, *self.stop])))


@dataclass(frozen=True)
class Stopped(Setting):
    """One service that shall not run."""

    place: Place
    service: str
    programs: frozenset[str] = frozenset()
    """What runs on a host, or in a container, that has no manager of services."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """As a report has it."""
        return f"service {self.service}"

    def read(self) -> str:
        """Whether it runs."""
        return _WORDS[services.state(self.place, self.service)]

    def wanted(self, now: str) -> str:
        """That it does not; one that is not there need not be stopped.

        Raises:
            LackError: if nothing knows how it is started.
        """
        if now == _WORDS["absent"] and self.service[:_COMM] in self.programs:
            raise LackError("it runs, and nothing manages services here that could start it again")
        return _WORDS["stopped"] if now == _WORDS["running"] else now

    row: ClassVar = "services"

    def step(self, before: str, wanted: str) -> SetByCommand:
        """Stop it."""
        return SetByCommand(
            what=self.name,
            argv=services.command("stop", self.service),
            look=services.command("state", self.service),
            before=before,
            value=wanted,
            back=services.command("start", self.service),
            skip=True,
            address=self.place.address,
        )

    def why_not_set(self, now: str, wanted: str, said: str) -> str:
        """As the manager of services says it."""
        refused = f" ({super().why_not_set(now, wanted, said)})" if said else ""
        return f"it does not stop{refused}"


def _settings(table: ServicesTable, scene: Scene) -> Iterator[Stopped]:
    programs: frozenset[str] = frozenset()
    if table.stop and scene.place.read(services.FIRST) != "systemd":
        paths = scene.place.find("/proc/[0-9]*/comm")
        programs = frozenset(scene.place.read_all(paths).values())
    return (Stopped(scene.place, name, programs) for name in table.stop)


KNOB = Knob(
    name="services",
    about="services that do not run while a system is measured",
    Table=ServicesTable,
    of="host",
    settings=_settings,
)
