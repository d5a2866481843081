"""Table ``[idle]``: how deeply the CPUs sleep."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host.changes import PREFIX
from tiltyard.host.place import Place
from tiltyard.host.start import Ready, Start
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, LackError, Scene, Setting
from tiltyard.tuning.values import Amount

_LATENCY = "/dev/cpu_dma_latency"
_STATES = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"
_NONE_US = 2_000_000_000
"""``PM_QOS_CPU_LATENCY_DEFAULT_VALUE``: nobody asks for anything."""
_NO_LIMIT = "no limit"


class IdleTable(KnobTable):
    """Admin-guide/pm/cpuidle.rst of the kernel."""

    latency_us: int | None = Field(
        None,
        ge=0,
        lt=_NONE_US,
        description="Longest time that waking may take, in µs, held as long as the system is up "
        "(/dev/cpu_dma_latency); 0: the CPUs poll.",
    )
    disable_above_us: int | None = Field(
        None, ge=0, description="States that take longer to wake from are disabled, in µs."
    )


@dataclass(frozen=True)
class HeldLatency(Setting):
    """A request that holds as long as a file is open (pm_qos_interface.rst)."""

    place: Place
    latency_us: int
    name: str = "wake-up latency"

    def read(self) -> str:
        """The strictest request in force, in µs."""
        try:
            text = self.place.run(("od", "-An", "-td4", "-N4", _LATENCY)).stdout
        except TiltyardError as error:
            reason = str(error).rpartition(": ")[2]
            raise LackError(f"{_LATENCY} cannot be opened ({reason})") from None
        return _NO_LIMIT if int(text) >= _NONE_US else f"{int(text)} µs"

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """In µs."""
        return f"{self.latency_us} µs"

    def holds(self, now: str, wanted: str) -> bool:  # noqa: ARG002  the base's name
        """A stricter one will do."""
        return now != _NO_LIMIT and int(now.split()[0]) <= self.latency_us

    def step(self, before: str, wanted: str) -> Start:  # noqa: ARG002  the base's names
        """Ask for it by a process that is known by its mark: the request ends with it."""
        request = "".join(f"\\{byte:03o}" for byte in self.latency_us.to_bytes(4, "little"))
        hold = f"exec 9>{_LATENCY} && printf '{request}' >&9 && echo held && exec sleep infinity"
        mark = f"{PREFIX}latency-{secrets.token_hex(4)}"
        return Start(argv=("sh", "-c", hold), mark=mark, ready=Ready(line=True))

    def why_not_set(self, now: str, wanted: str, said: str) -> str:
        """Why the process does not hold it."""
        return f"the request of {wanted} is not in force: {said or now}"


def _settings(table: IdleTable, scene: Scene) -> Iterator[Setting]:
    if table.latency_us is not None:
        yield HeldLatency(scene.place, table.latency_us)
    if table.disable_above_us is None:
        return
    name = f"idle states above {table.disable_above_us} µs"
    states = scene.place.find(_STATES)
    if not states:
        yield Absent(name, "there are no idle states: no driver of this host has any")
    latencies = scene.place.read_all(f"{state}/latency" for state in states)
    for state in states:
        if int(latencies.get(f"{state}/latency", "0")) > table.disable_above_us:
            yield FileSetting(name, scene.place, f"{state}/disable", (Amount("1"),))


KNOB = Knob(
    name="idle",
    about="how deeply the CPUs sleep when they have nothing to do",
    Table=IdleTable,
    of="host",
    settings=_settings,
)
