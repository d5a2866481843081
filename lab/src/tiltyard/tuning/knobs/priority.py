"""Table ``[priority]``: how the scheduler prefers the workload to everything else."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import Field, model_validator

from tiltyard.errors import TiltyardError
from tiltyard.host.place import Place
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Launch, Scene

_UNLIMITED: Final = "-1"
_LIMIT: Final = "/proc/sys/kernel/sched_rt_runtime_us"
_STAT: Final = "/proc/self/stat"
_NICE, _REALTIME, _POLICY = (field - 3 for field in (19, 40, 41))
"""Fields of proc_pid_stat(5), counted from behind the name."""
_FIFO: Final = "1"


class PriorityTable(KnobTable):
    """Nice(1) and chrt(1); the threads and programs of the workload inherit it."""

    nice: int | None = Field(
        None, ge=-20, le=19, description="Nice value of the workload, -20 (most) to 19."
    )
    fifo: int | None = Field(
        None,
        ge=1,
        le=99,
        description="Real-time priority of the workload (SCHED_FIFO), 1 to 99 (most).",
    )

    @model_validator(mode="after")
    def _one(self) -> "PriorityTable":
        """The one makes the other void."""
        if self.nice is not None and self.fifo is not None:
            raise ValueError("nice says nothing of a real-time process: give nice or fifo")
        return self


@dataclass(frozen=True)
class Priority(Launch):
    """The command that the measuring engine is started by."""

    place: Place
    command: tuple[str, ...]
    value: str
    name: str = "priority of the workload"

    def read(self) -> str:
        """That of what we start without it."""
        return self._of(())

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """What is started by the command has it: that is tried.

        Raises:
            LackError: if it has not, or if nothing else would get a CPU.
        """
        if self.command[0] == "chrt" and self.place.read(_LIMIT) == _UNLIMITED:
            raise LackError(
                "real-time programs may take all CPU time here. Fix: "
                "sysctl kernel.sched_rt_runtime_us=950000"
            )
        try:
            found = self._of(self.command)
        except TiltyardError as error:
            raise LackError(f"{self.command[0]}: {str(error).rpartition(': ')[2]}") from None
        if found != self.value:
            raise LackError(f"{self.value} becomes {found}: only root may ask for more")
        return self.value

    def _of(self, prefix: tuple[str, ...]) -> str:
        """As the kernel says it of a program."""
        said = self.place.run((*prefix, "cat", _STAT)).stdout.rpartition(")")[2].split()
        if said[_POLICY] == _FIFO:
            return f"fifo {said[_REALTIME]}"
        return f"nice {said[_NICE]}"


def _niceness(place: Place) -> int:
    """Of what we start."""
    return int((place.read(_STAT) or "").rpartition(")")[2].split()[_NICE])


def _settings(table: PriorityTable, scene: Scene) -> Iterator[Priority]:
    if table.nice is not None:
        argv = ("nice", "-n", str(table.nice - _niceness(scene.place)))
        yield Priority(scene.place, argv, f"nice {table.nice}")
    if table.fifo is not None:
        yield Priority(scene.place, ("chrt", "-f", str(table.fifo)), f"fifo {table.fifo}")


KNOB = Knob(
    name="priority",
    about="how the scheduler prefers the workload to everything else",
    Table=PriorityTable,
    of="engine",
    settings=_settings,
)
