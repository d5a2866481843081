"""Table ``[steering]``: which CPUs take packets from, and hand them to, each queue of a device."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from tiltyard.host.cpus import Cpus
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, LackError, Scene, Setting
from tiltyard.tuning.values import Amount

_FILES: Final = {
    "receive_cpus": "rx-*/rps_cpus",
    "transmit_cpus": "tx-*/xps_cpus",
    "flows": "rx-*/rps_flow_cnt",
}
_LACK: Final = "its driver has one queue, or none that this kernel steers"


class SteeringTable(KnobTable):
    """Networking/scaling.rst of the kernel."""

    receive_cpus: Cpus | None = Field(
        None, description="CPUs that process received packets (RPS); []: that of the interrupt."
    )
    transmit_cpus: Cpus | None = Field(
        None, description="CPUs that send by each queue (XPS); []: the kernel chooses."
    )
    flows: int | None = Field(
        None,
        ge=0,
        description="Flows of each receive queue that are processed where their program runs "
        "(RFS, a power of two); of all queues: net.core.rps_sock_flow_entries in [sysctl].",
    )


@dataclass(frozen=True, kw_only=True)
class Mask(FileSetting):
    """A set of CPUs as the kernel prints it: ``00,00000003``."""

    cpus: tuple[int, ...]
    choices: tuple[Amount, ...] = ()

    def wanted(self, now: str) -> str:
        """The CPUs in as many digits as the kernel has, in groups as it has them.

        Raises:
            LackError: if it has fewer CPUs.
        """
        groups = now.split(",")
        width = sum(map(len, groups))
        text = f"{sum(1 << cpu for cpu in set(self.cpus)):0{width}x}"
        if len(text) > width:
            raise LackError(f"there is no CPU {max(self.cpus)}")
        ends = [sum(map(len, groups[: number + 1])) for number in range(len(groups))]
        return ",".join(
            text[end - len(group) : end] for group, end in zip(groups, ends, strict=True)
        )


def _settings(table: SteeringTable, scene: Scene) -> Iterator[Setting]:
    asked = {key: wanted for key in _FILES if (wanted := getattr(table, key)) is not None}
    for interface in scene.interfaces:
        for key, wanted in asked.items():
            name = f"{interface} {key.replace('_', ' ')}"
            paths = scene.place.find(f"/sys/class/net/{interface}/queues/{_FILES[key]}")
            if not paths:
                yield Absent(name, _LACK)
            for path in paths:
                if key == "flows":
                    yield FileSetting(name, scene.place, path, (Amount(str(wanted)),))
                else:
                    yield Mask(name=name, place=scene.place, path=path, lack=_LACK, cpus=wanted)
    if not scene.interfaces:
        reason = "no network device is known on the path of the system"
        yield from (Absent(f"steering {key}", reason) for key in asked)


KNOB = Knob(
    name="steering",
    about="on which CPUs packets of each queue of a network device are processed (RPS, XPS, RFS)",
    Table=SteeringTable,
    of="devices",
    settings=_settings,
)
