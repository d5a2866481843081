"""Table ``[interrupts]``: on which CPUs interrupts are served."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tiltyard.host.cpus import Cpus, cpu_list
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, Scene, Setting
from tiltyard.tuning.values import Amount

_NAME = "interrupts"


class InterruptsTable(KnobTable):
    """Core-api/irq/irq-affinity.rst of the kernel."""

    cpus: Cpus = Field(min_length=1, description="CPUs that serve them.")
    of: Literal["all", "devices"] = Field(
        "all", description="Those of the whole host, or of the system's own devices."
    )


def _settings(table: InterruptsTable, scene: Scene) -> Iterator[Setting]:
    numbers = _all(scene) if table.of == "all" else _of_devices(scene)
    if not numbers:
        yield Absent(_NAME, "no interrupt of the system's devices is known")
    wanted = Amount(cpu_list(table.cpus))
    for number in numbers:
        yield FileSetting(_NAME, scene.place, f"/proc/irq/{number}/smp_affinity_list", (wanted,))


def _all(scene: Scene) -> list[str]:
    """Every interrupt of the host."""
    return [path.rpartition("/")[2] for path in scene.place.find("/proc/irq/[0-9]*")]


def _of_devices(scene: Scene) -> list[str]:
    """Interrupts by message of the devices; the parent of a virtio device has them."""
    folders = [
        *(f"/sys/class/net/{name}/device" for name in scene.interfaces),
        *(f"/sys/class/block/{name.rpartition('/')[2]}/device" for name in scene.devices),
    ]
    wanted = (f"{folder}{up}/msi_irqs/[0-9]*" for folder in folders for up in ("", "/.."))
    found = (path.rpartition("/")[2] for each in wanted for path in scene.place.find(each))
    return list(dict.fromkeys(found))


KNOB = Knob(
    name="interrupts",
    about="on which CPUs interrupts are served",
    Table=InterruptsTable,
    of="devices",
    settings=_settings,
)
