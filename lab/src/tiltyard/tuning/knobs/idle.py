"""Table ``[idle]``: how deeply the CPUs sleep."""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import commands
from tiltyard.host.place import Place
from tiltyard.host.setting_changes import StartedProcess
from tiltyard.host.steps import Steps
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.scene import Scene
from tiltyard.tuning.setting import Absent, LackError, Setting
from tiltyard.tuning.values import Amount

_LATENCY = "/dev/cpu_dma_latency"
_STATES = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"
_LARGEST_US = 2**31 - 1
_HELD_TRIES = 100
_HELD_PAUSE_S = 0.02


class IdleTable(KnobTable):
    """Admin-guide/pm/cpuidle.rst of the kernel."""

    latency_us: int | None = Field(
        None,
        ge=0,
        le=_LARGEST_US,
        description="Longest time that waking may take, in µs, held as long as the system is up "
        "(/dev/cpu_dma_latency); 0: the CPUs poll.",
    )
    disable_above_us: int | None = Field(
        None, ge=0, description="States that take longer to wake from are disabled, in µs."
    )


@dataclass(frozen=True)
class HeldLatency(Setting):
    """A request that holds as long as a process keeps a file open (pm_qos_interface.rst)."""

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
        return f"{text.strip()} µs"

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """In µs."""
        return f"{self.latency_us} µs"

    def holds(self, now: str, wanted: str) -> bool:  # noqa: ARG002  the base's name
        """A stricter one will do."""
        return int(now.split()[0]) <= self.latency_us

    def change(self, steps: Steps, before: str, wanted: str) -> None:  # noqa: ARG002  the base's name
        """Start a process that asks for it; its end, and ours by ``restore``, takes it back."""
        started = steps.record(StartedProcess(mark=steps.ledger.name(secrets.token_hex(4))))
        request = "".join(f"\\{byte:03o}" for byte in self.latency_us.to_bytes(4, "little"))
        hold = f"exec 3>{_LATENCY} && printf '{request}' >&3 && exec cat"
        # The sleeper keeps the standard input of the holder open, also through ssh. Nothing of
        # ours is held: the ledger's lock must not outlive us in it.
        line = '{ sleep infinity | "$@"; } >/dev/null 2>&1 &'
        words = ("sh", "-c", line, "sh", *self.place.argv(("sh", "-c", hold)))
        commands.run(words, environment=started.environment)
        for _ in range(_HELD_TRIES):
            if self.holds(self.read(), wanted):
                return
            time.sleep(_HELD_PAUSE_S)
        steps.undo_last()
        raise LackError(f"the request of {wanted} is not in force")


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
