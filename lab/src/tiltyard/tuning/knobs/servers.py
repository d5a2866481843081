"""Table ``[servers]``: on which CPUs the server of a system runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host.cpus import Cpus, cpu_list, parse_cpus
from tiltyard.host.place import HERE
from tiltyard.host.steps import Step, Steps
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, LackError, Scene, Setting

_NAME: Final = "CPUs of the servers"
_ONLINE: Final = "/sys/devices/system/cpu/online"
_ALLOWED: Final = "Cpus_allowed_list:"


class ServersTable(KnobTable):
    """Taskset(1), once they serve and again whenever they are started again."""

    cpus: Cpus = Field(min_length=1, description="CPUs that they may use; threads inherit it.")


class PinServers(Step):
    """Where processes may run; it ends with them."""

    kind: Literal["pin-servers"] = "pin-servers"
    pids: tuple[int, ...]
    cpus: str

    @property
    def line(self) -> str:
        """In words."""
        return f"# pin the servers to CPUs {self.cpus}"

    def execute(self, host: Steps) -> str:
        """Each with all of its threads; one may have ended meanwhile."""
        for pid in self.pids:
            argv = ("taskset", "--all-tasks", "--cpu-list", "--pid", self.cpus, str(pid))
            try:
                host.run(argv)
            except TiltyardError:
                if HERE.find(f"/proc/{pid}"):
                    raise
        return ""


@dataclass(frozen=True)
class ServerCpus(Setting):
    """All servers of a system together."""

    servers: Callable[[], Sequence[int]]
    cpus: str
    name: str = _NAME

    def read(self) -> str:
        """Those that any thread of theirs may use."""
        paths = [path for pid in self.servers() for path in HERE.find(f"/proc/{pid}/task/*/status")]
        texts = HERE.read_all(paths).values()
        lines = (line for text in texts for line in text.splitlines())
        lists = [line.split()[1] for line in lines if line.startswith(_ALLOWED)]
        return cpu_list(cpu for each in lists for cpu in parse_cpus(each))

    def wanted(self, now: str) -> str:
        """The CPUs.

        Raises:
            LackError: if they have ended, or if one of the CPUs is not there.
        """
        if not now:
            raise LackError("no server runs")
        online = set(parse_cpus(HERE.read(_ONLINE) or ""))
        if missing := set(parse_cpus(self.cpus)) - online:
            raise LackError(f"there is no CPU {min(missing)}")
        return self.cpus

    def step(self, before: str, wanted: str) -> PinServers:  # noqa: ARG002  the base's names
        """Pin them."""
        return PinServers(pids=tuple(self.servers()), cpus=wanted)


def _settings(table: ServersTable, scene: Scene) -> Iterator[Setting]:
    if not scene.servers():
        yield Absent(_NAME, "the system has no server here; that of a network test has server_cpus")
        return
    yield ServerCpus(scene.servers, cpu_list(table.cpus))


KNOB = Knob(
    name="servers",
    about="on which CPUs the servers of a system run",
    Table=ServersTable,
    of="devices",
    settings=_settings,
    again=True,
)
