"""Table ``[network]``: the network devices that a system's path begins with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema

from tiltyard.host import ethtool
from tiltyard.host.packages import Tool, install_command
from tiltyard.host.place import Place
from tiltyard.host.settings import SetByCommand
from tiltyard.study.problems import shown
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, LackError, Scene, Setting
from tiltyard.tuning.values import Amount

ETHTOOL = Tool("ethtool", "ethtool", ("--version",), "network devices cannot be tuned")
_GROUPS: tuple[ethtool.Group, ...] = get_args(ethtool.Group)
_FILES = {"mtu": "mtu", "tx_queue_len": "tx_queue_len"}
_MOST = "most"


def _words(typed: object) -> object:
    """Properties as ethtool takes them: a number, on, off, or the most that the device has."""
    if not isinstance(typed, dict):
        raise ValueError(f'{shown(typed)} is not a table: {{ rx = 4096, tx = "{_MOST}" }}')
    return {key: _word(key, value) for key, value in typed.items()}


def _word(key: str, value: object) -> str:
    """One value."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and value >= 0:
        return str(value)
    if value in ("on", "off", _MOST):
        return str(value)
    raise ValueError(f'{key}: {shown(value)} is not a number, true, false or "{_MOST}"')


Properties = Annotated[dict[str, str], BeforeValidator(_words), WithJsonSchema({"type": "object"})]


class NetworkTable(KnobTable):
    """By the names of ethtool(8) and of ABI/testing/sysfs-class-net."""

    ring: Properties = Field({}, description='Descriptors: { rx = "most", tx = 4096 }.')
    coalescing: Properties = Field(
        {}, description='When interrupts are held back: { "adaptive-rx" = false, "rx-usecs" = 0 }.'
    )
    channels: Properties = Field({}, description="Queues: { combined = 4 }.")
    offloads: Properties = Field({}, description="Features: { tso = true, gro = true }.")
    mtu: int | None = Field(None, ge=68, description="Largest packet, in bytes.")
    tx_queue_len: int | None = Field(None, ge=0, description="Packets that wait to be sent.")


@dataclass(frozen=True)
class InterfaceSetting(Setting):
    """One property of one device."""

    place: Place
    interface: str
    group: ethtool.Group
    key: str
    value: str

    @property
    def name(self) -> str:  # type: ignore[override]
        """As a report has it."""
        return f"{self.interface} {self.group} {self.key}"

    def read(self) -> str:
        """What is in force."""
        found = ethtool.read(self.place, self.interface, self.group)
        if self.key not in found:
            raise LackError(
                f"{self.interface} has no {self.key}; it has {', '.join(found)}"
                if found
                else f"the driver of {self.interface} has no {self.group} to set"
            )
        return found[self.key]

    def wanted(self, now: str) -> str:  # noqa: ARG002  the base's name
        """The value, or the most there is."""
        if self.value != _MOST:
            return self.value
        most = ethtool.most(self.place, self.interface, self.group).get(self.key)
        if most is None:
            raise LackError(f"{self.interface} does not say how much {self.key} it takes")
        return most

    @property
    def row(self) -> str:
        """Properties of one group may depend on each other."""
        return self.name

    def step(self, before: str, wanted: str) -> SetByCommand:
        """Set it."""
        return SetByCommand(
            what=self.name,
            argv=ethtool.command(self.interface, self.group, self.key, wanted),
            look=ethtool.look(self.interface, self.group, self.key),
            before=before,
            value=wanted,
            back=ethtool.command(self.interface, self.group, self.key, before),
            ends_with_boot=True,
            skip=True,
            address=self.place.address,
        )


def _settings(table: NetworkTable, scene: Scene) -> Iterator[Setting]:
    wanted: dict[ethtool.Group, dict[str, Any]] = {
        group: getattr(table, group) for group in _GROUPS
    }
    if not scene.interfaces:
        keys = [*(group for group in _GROUPS if wanted[group]), *_of_sysfs(table)]
        reason = "no network device is known on the path of the system"
        yield from (Absent(f"network {key}", reason) for key in keys)
    for interface in scene.interfaces:
        for group in _GROUPS:
            yield from _of_ethtool(scene.place, interface, group, wanted[group])
        for key, amount in _of_sysfs(table).items():
            path = f"/sys/class/net/{interface}/{key}"
            yield FileSetting(f"{interface} {key}", scene.place, path, (amount,))


def _of_ethtool(
    place: Place, interface: str, group: ethtool.Group, wanted: dict[str, str]
) -> Iterator[Setting]:
    """The properties of a group."""
    if wanted and not place.has(ETHTOOL.command):
        reason = f"ethtool is not installed: {install_command(place, ETHTOOL.package)}"
        yield Absent(f"{interface} {group}", reason)
        return
    for key, value in wanted.items():
        yield InterfaceSetting(place, interface, group, key, value)


def _of_sysfs(table: NetworkTable) -> dict[str, Amount]:
    """What is a file of the device."""
    values = {file: getattr(table, key) for key, file in _FILES.items()}
    return {file: Amount(str(value)) for file, value in values.items() if value is not None}


KNOB = Knob(
    name="network",
    about="rings, coalescing, queues and features of a system's network devices",
    Table=NetworkTable,
    of="devices",
    settings=_settings,
)
