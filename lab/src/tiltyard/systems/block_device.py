"""Kind ``block-device``: a fresh file system on a disk, a partition or a volume.

The device must be blank when it is handed over, and is blank again after each turn: all systems
of a study share it and none needs an exception for what an earlier one left. Whether it may be
formatted is decided in :mod:`tiltyard.host.devices.safety`; nothing is ever forced.

With ``reset = "remount"`` or ``"none"`` a file system stays on the device from its first turn to
the end of the run, so each system needs a device of its own.
"""

import os
import uuid
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from tiltyard.errors import BusyError, RefusedError
from tiltyard.folder import sha256
from tiltyard.host import commands
from tiltyard.host.changes import Change
from tiltyard.host.changes.devices import FormattedDevice
from tiltyard.host.changes.settings import MountedAt, SetFile
from tiltyard.host.devices.block_devices import number_under
from tiltyard.host.devices.contents import forget_cache, signatures
from tiltyard.host.devices.facts import device_facts
from tiltyard.host.devices.loops import queue_setting
from tiltyard.host.devices.safety import Held, Wanted, hold, insist_blank, insist_unused, refusal
from tiltyard.systems.image_checks import check_filesystem
from tiltyard.systems.kind import Kind, KindSettings, Problem, Site, Size
from tiltyard.systems.state.keeper import Keeper
from tiltyard.systems.volume import Volume, VolumeSettings, brings, redraws
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
        self._wanted = Wanted(
            given=settings.device,
            size_bytes=settings.confirm.size,
            marks=settings.confirm.marks,
            keep=(site.root, site.work.parent, site.ledger.path.parent),
        )
        self._ours: FormattedDevice | None = None
        self._held: Held
        """The device, open while a turn is prepared; after that only what was seen of it."""

    def problems(self) -> list[Problem]:
        """Root, mkfs, the kernel's driver, size; and every reason to refuse the device."""
        found = check_filesystem(self._filesystem)
        size_bytes = self._wanted.size_bytes
        if size_bytes < self._filesystem.min_bytes:
            least = format_size(self._filesystem.min_bytes)
            text = (
                f"{self._filesystem.name} needs {least}; the device has {format_size(size_bytes)}"
            )
            found.append(Problem("error", text, "a larger device"))
        if os.geteuid() == 0:
            found += self._refusals()
        found += self._state_problems(size_bytes)
        return found

    def _refusals(self) -> list[Problem]:
        """Why the device would be refused now, if it would."""
        try:
            self._insist_alone()
            error = refusal(self._wanted)
        except BusyError as busy:
            error = busy
        return [Problem("error", str(error), passes=isinstance(error, BusyError))] if error else []

    def _insist_alone(self) -> None:
        """No other run has a file system on it, be it mounted now or not."""
        number = number_under(self._wanted.given)
        self._steps.insist_alone(
            lambda one: isinstance(one, FormattedDevice) and number_under(one.given) == number,
            str(self._wanted.given),
        )

    def _prepare(self) -> tuple[commands.Command, ...]:
        """From the first check to the mount the device is held open."""
        with hold(self._wanted) as held:
            self._held = held
            return super()._prepare()

    def _make_state(self) -> tuple[commands.Command, ...]:
        """The same, where there is a state to make."""
        if self._keeper is None:
            return ()
        with hold(self._wanted) as held:
            self._held = held
            return super()._make_state()

    def _put_back(self, device: str, keeper: Keeper) -> None:
        """What the copy carries will be on the device, and is in the ledger before that."""
        if self._ours is None or self._makes_anew:
            self._insist(device)
        if self._steps.dry:
            self._note(("UUID",))
            keeper.put_back(device)
            return
        self._note(tuple(each.mark for each in signatures(str(keeper.copy))))
        keeper.put_back(device)
        forget_cache(self._held.file)

    def _attach(self) -> str:
        """The device, if it may be used."""
        self._insist_alone()
        insist_unused(self._held, self._wanted)
        if self._ours is None or self._makes_anew:
            insist_blank(self._held)
        else:
            self._insist_ours(self._ours)
        return self._held.device.node

    def _insist(self, device: str) -> None:
        """Nobody uses it and nothing is on it."""
        del device
        insist_unused(self._held, self._wanted)
        insist_blank(self._held)

    def _format(self, device: str) -> None:
        """Without force, and known by a UUID that is in the ledger before it is on the device."""
        chosen = "UUID" if self._steps.dry else str(uuid.uuid4())
        identity = self._filesystem.known_by(chosen)
        self._insist(device)
        self._note((chosen,) if identity else ())
        options = (*identity, *self._settings.mkfs)
        self._steps.run(self._filesystem.mkfs(options, device, force=False))
        if not self._steps.dry:
            self._verify(device, chosen)

    def _verify(self, device: str, chosen: str) -> None:
        """What mkfs has made is known, whether or not it took the UUID."""
        forget_cache(self._held.file)
        made = tuple(each.mark for each in signatures(device))
        if made != (chosen,):
            self._note(made)

    def _note(self, known: tuple[str, ...]) -> None:
        """Write down by what our file system is known; it goes with the turn, or the run."""
        change = FormattedDevice(
            given=self._wanted.given,
            size_bytes=self._wanted.size_bytes,
            marks=dict(self._wanted.marks),
            filesystem=self._filesystem.name,
            known=known,
        )
        record = self._steps.record if self._makes_anew else self._site.ledger.record
        self._ours = record(change)

    def _insist_ours(self, ours: FormattedDevice) -> None:
        """What is to be mounted again is what we made."""
        forget_cache(self._held.file)
        found = signatures(self._held.device.node)
        if not found or any(each.mark not in ours.known for each in found):
            now = str(found[0]) if found else "nothing"
            raise RefusedError(
                f"{self._held.device}: not mounted: it carries {now}, not what we made"
            )

    def _mounted(self) -> Change:
        return MountedAt(target=self._target)

    def _queue_change(self, device: str, name: str, before: str, value: str) -> Change:
        return SetFile(path=str(queue_setting(device, name)), before=before, value=value)

    def _device_facts(self, device: str) -> dict[str, str]:
        del device
        return device_facts(self._held.device)


KIND = Kind(
    name="block-device",
    about="a fresh file system on a blank disk or partition, which is left blank; needs root",
    Settings=BlockDeviceSettings,
    target="directory",
    open=BlockDeviceVolume,
    redraws=redraws,
    brings=brings,
)
