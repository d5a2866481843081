"""Kind ``block-device``: a fresh file system on a disk, a partition or a volume.

The device must be blank when it is handed over, and is blank again after each turn: all systems
of a study share it and none needs an exception for what an earlier one left. Whether it may be
formatted is decided by the host's agent (:mod:`tiltyard.host.devices.held`); nothing is ever
forced.

With ``reset = "remount"`` or ``"none"`` a file system stays on the device from its first turn to
the end of the run, so each system needs a device of its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from tiltyard.errors import BusyError
from tiltyard.folder import sha256
from tiltyard.host.changes import MadeByOp
from tiltyard.host.devices import loops
from tiltyard.host.devices.block_devices import BlockDevice
from tiltyard.host.devices.facts import device_facts
from tiltyard.host.devices.held import (
    UUID,
    FormatDevice,
    ReleaseDevice,
    Wanted,
    is_format_of,
    refusal,
)
from tiltyard.host.settings import SetValue, in_force
from tiltyard.host.steps import Step
from tiltyard.systems.kind import Kind, KindSettings, Problem, Site, Size
from tiltyard.systems.state.keeper import Keeper
from tiltyard.systems.volume import (
    Volume,
    VolumeSettings,
    brings,
    check_filesystem,
    redraws,
)
from tiltyard.units import format_size

_STABLE = Path("/dev/disk")
_OF_CONTENTS = ("by-uuid", "by-label")
"""Names that udev makes of a file system: a device that carries one is not blank."""


class Confirmation(KindSettings):
    """What the device is; each mark that is given must be the device's own."""

    size: Size = Field(description="Its size, to the byte, as lsblk --bytes shows it.", gt=0)
    serial: str | None = Field(
        default=None, description="Serial number, as lsblk --output SERIAL shows it."
    )
    wwn: str | None = Field(
        default=None, description="World wide name, as lsblk --output WWN shows it."
    )
    partuuid: str | None = Field(
        default=None, description="Of a partition: its identifier in the partition table."
    )
    backing_file: Path | None = Field(
        default=None, description="Of a loop device: the file behind it."
    )

    @property
    def marks(self) -> dict[str, str]:
        """What is given beside the size."""
        given = self.model_dump(mode="json", exclude={"size"}, exclude_none=True)
        return {name: str(mark) for name, mark in given.items()}


class BlockDeviceSettings(VolumeSettings):
    """Which device, and what is made on it."""

    device: Path = Field(
        description="A blank block device, by a name that stays: /dev/disk/by-id/… All that is "
        "on it after the study is gone; it is left blank."
    )
    confirm: Confirmation = Field(
        description="What the device is: { size = …, serial = … }. It must be so, or nothing is "
        "written."
    )

    @field_validator("device")
    @classmethod
    def _is_a_device(cls, device: Path) -> Path:
        """A path in ``/dev`` that does not depend on what is on the device."""
        if not device.is_relative_to("/dev") or ".." in device.parts:
            raise ValueError(f'"{device}" is not a device. Name it by /dev/disk/by-id/…')
        if any(device.is_relative_to(_STABLE / name) for name in _OF_CONTENTS):
            raise ValueError(
                f'"{device}" is the name of a file system, and a blank device has none. '
                "Name it by /dev/disk/by-id/…"
            )
        return device

    @model_validator(mode="after")
    def _is_identified(self) -> Self:
        """A kernel's name such as ``/dev/sdb`` is another disk's after the next boot."""
        if not self.device.is_relative_to(_STABLE) and not self.confirm.marks:
            raise ValueError(
                f'device: "{self.device}" may be another one after the next boot. Name it by '
                "/dev/disk/by-id/…, or say in confirm which one is meant: { size = …, serial = … }"
            )
        return self


class BlockDeviceVolume(Volume):
    """One file system on a device that is somebody's until every check has passed."""

    def __init__(self, name: str, settings: BlockDeviceSettings, site: Site) -> None:
        """Nothing is touched yet."""
        super().__init__(settings, site, sha256(name.encode())[:8])
        self._makes_anew = settings.makes_anew
        local = (site.root, site.work.parent)
        self._wanted = Wanted(
            given=settings.device,
            size_bytes=settings.confirm.size,
            marks=settings.confirm.marks,
            keep=(site.scratch,) if site.place.is_remote else local,
        )
        self._seen: BlockDevice
        """The device as it was when a turn was prepared."""

    def problems(self) -> list[Problem]:
        """Root, mkfs, the kernel's driver, size; and every reason to refuse the device."""
        found = check_filesystem(self._filesystem, self.place)
        size_bytes = self._wanted.size_bytes
        if size_bytes < self._filesystem.min_bytes:
            least = format_size(self._filesystem.min_bytes)
            text = (
                f"{self._filesystem.name} needs {least}; the device has {format_size(size_bytes)}"
            )
            found.append(Problem("error", text, "a larger device"))
        if self.place.is_root and (error := refusal(self._wanted.held(), self.place)):
            text = str(error).removeprefix(f"{self.place}: ")
            found.append(Problem("error", text, passes=isinstance(error, BusyError)))
        found += self._state_problems(size_bytes)
        return found

    def _prepare(self) -> Iterator[Step]:
        """From the first check to the mount the device is held open."""
        if self._ours is None:
            self._formatted = False
        yield from super()._prepare()
        yield ReleaseDevice(given=self._wanted.given)

    def _attach(self) -> Iterator[Step]:
        """The device, if it may be used."""
        self._seen = BlockDevice.at(self._wanted.given, self.place)
        self._device = self._seen.node
        yield self._wanted.held(self._device, None if self._makes_anew else self._ours)

    def _require_formattable(self) -> None:
        """The step looks, right before it formats."""

    def _format(self) -> Iterator[Step]:
        """Without force, and known by a UUID that is in the ledger before it is on the device."""
        identity = self._filesystem.known_by(UUID)
        options = (*identity, *self._settings.mkfs)
        argv = self._filesystem.mkfs(options, self._device, self._called, force=False)
        yield self._carries(argv=argv, output=UUID if identity else "")

    def _put_back(self, keeper: Keeper) -> Iterator[Step]:
        """What the copy carries will be on the device, and is in the ledger before that."""
        yield self._carries(like=keeper.copy)
        yield keeper.put_back(self._device)

    def _carries(self, **how: Any) -> FormatDevice:
        """Our file system on the device."""
        return FormatDevice(
            given=self._wanted.given,
            node=self._device,
            filesystem=self._filesystem.name,
            lasts="turn" if self._makes_anew else "run",
            **how,
        )

    @property
    def _ours(self) -> MadeByOp | None:
        """What we have made on it, as far as that is known."""
        mine = (
            change
            for change in reversed(self._site.ledger.outstanding)
            if change.address == self.place.address and is_format_of(change, self._wanted.given)
        )
        return next(mine, None)

    def _queue_step(self, name: str, value: str) -> Step:
        setting = str(loops.queue_setting(self._device, name, self.place))
        before = in_force(self.place.read(setting) or "")
        return SetValue(
            name=f"{name} of {self._device}",
            path=setting,
            value=value,
            before=before,
            address=self.place.address,
        )

    def _device_facts(self, device: str) -> dict[str, str]:
        del device
        return device_facts(self._seen, self.place)


KIND = Kind(
    name="block-device",
    about="a fresh file system on a blank disk or partition, which is left blank; needs root",
    Settings=BlockDeviceSettings,
    target="directory",
    open=BlockDeviceVolume,
    redraws=redraws,
    brings=brings,
)
