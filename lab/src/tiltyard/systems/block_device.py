"""Kind ``block-device``: a fresh file system on a disk, a partition or a volume.

The device must be blank when it is handed over, and is blank again after each turn: all systems
of a study share it and none needs an exception for what an earlier one left. Whether it may be
formatted is decided in :mod:`tiltyard.host.devices.safety`; nothing is ever forced.

With ``reset = "remount"`` or ``"none"`` a file system stays on the device from its first turn to
the end of the run, so each system needs a device of its own.
"""

import os
import shlex
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from tiltyard.errors import BusyError, RefusedError
from tiltyard.folder import sha256
from tiltyard.host.changes import Change
from tiltyard.host.changes.devices import FormattedDevice
from tiltyard.host.devices import loops
from tiltyard.host.devices.block_devices import number_under
from tiltyard.host.devices.contents import forget_cache, signatures
from tiltyard.host.devices.facts import device_facts
from tiltyard.host.devices.safety import Held, Wanted, hold, refusal, require_blank, require_unused
from tiltyard.host.recorder import require_alone
from tiltyard.host.settings import SetValue
from tiltyard.host.steps import Step, Steps
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
UUID: Final = "{uuid}"
"""Output: that of a file system, chosen before it is made."""


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
            self._require_alone()
            error = refusal(self._wanted)
        except BusyError as busy:
            error = busy
        return [Problem("error", str(error), passes=isinstance(error, BusyError))] if error else []

    def _require_alone(self) -> None:
        """No other run has a file system on it, be it mounted now or not."""
        number = number_under(self._wanted.given)
        require_alone(
            self._site.ledger,
            lambda change: (
                isinstance(change, FormattedDevice) and number_under(change.given) == number
            ),
            str(self._wanted.given),
        )

    def _prepare(self) -> Iterator[Step]:
        """From the first check to the mount the device is held open."""
        with hold(self._wanted) as held:
            self._held = held
            yield from super()._prepare()

    def _make_state(self) -> Iterator[Step]:
        """The same, where there is a state to make."""
        if self._keeper is not None:
            with hold(self._wanted) as held:
                self._held = held
                yield from super()._make_state()

    def _put_back(self, keeper: Keeper) -> Iterator[Step]:
        """What the copy carries will be on the device, and is in the ledger before that."""
        if self._ours is None or self._makes_anew:
            self._require_formattable()
        marks: tuple[str, ...] = (UUID,)
        if keeper.is_kept and keeper.copy.exists():
            marks = tuple(each.mark for each in signatures(str(keeper.copy)))
        yield keeper.put_back(self._device).model_copy(
            update={"change": self._change(marks), "lasts": self._lasts}
        )
        forget_cache(self._held.file)

    def _attach(self) -> Iterable[Step]:
        """The device, if it may be used."""
        self._require_alone()
        require_unused(self._held, self._wanted)
        if self._ours is None or self._makes_anew:
            require_blank(self._held)
        else:
            self._require_ours(self._ours)
        self._device = self._held.device.node
        return ()

    def _require_formattable(self) -> None:
        """Nobody uses it and nothing is on it."""
        require_unused(self._held, self._wanted)
        require_blank(self._held)

    def _format(self) -> Iterator[Step]:
        """Without force, and known by a UUID that is in the ledger before it is on the device."""
        self._require_formattable()
        identity = self._filesystem.known_by(UUID)
        options = (*identity, *self._settings.mkfs)
        yield Format(
            argv=self._filesystem.mkfs(options, self._device, force=False),
            device=self._device,
            change=self._change((UUID,) if identity else ()),
            lasts=self._lasts,
        )

    def _change(self, known: tuple[str, ...]) -> FormattedDevice:
        """By what our file system is known."""
        return FormattedDevice(
            given=self._wanted.given,
            size_bytes=self._wanted.size_bytes,
            marks=dict(self._wanted.marks),
            filesystem=self._filesystem.name,
            known=known,
        )

    @property
    def _lasts(self) -> Literal["turn", "run"]:
        """How long a file system is on it."""
        return "turn" if self._makes_anew else "run"

    @property
    def _ours(self) -> FormattedDevice | None:
        """What we have made on it, as far as that is known."""
        mine = (
            change
            for change in reversed(self._site.ledger.outstanding)
            if isinstance(change, FormattedDevice) and change.given == self._wanted.given
        )
        return next(mine, None)

    def _require_ours(self, ours: FormattedDevice) -> None:
        """What is to be mounted again is what we made."""
        forget_cache(self._held.file)
        there = signatures(self._held.device.node)
        if not there or any(each.mark not in ours.known for each in there):
            now = str(there[0]) if there else "nothing"
            raise RefusedError(
                f"{self._held.device}: not mounted: it carries {now}, not what we made"
            )

    def _queue_step(self, name: str, value: str) -> Step:
        setting = loops.queue_setting(self._device, name)
        return SetValue(
            name=f"{name} of {self._device}",
            path=str(setting),
            value=value,
            before=loops.chosen(setting),
        )

    def _device_facts(self, device: str) -> dict[str, str]:
        del device
        return device_facts(self._held.device)


class Format(Step):
    """A file system on a device that is blank, known by a UUID that is chosen here."""

    kind: Literal["format"] = "format"
    argv: tuple[str, ...]
    """:data:`UUID` stands for it."""
    device: str
    change: FormattedDevice

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self.argv)

    @property
    def script(self) -> str:
        """A runbook asks before it writes to a device that is not its own."""
        made = self.line.replace(shlex.quote(UUID), '"$(uuidgen)"')
        return f"may_erase {shlex.quote(self.device)}; {made}"

    def changes(self) -> Sequence[Change]:
        """It is made blank again."""
        return (self.change,)

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """The UUID is chosen when it is needed."""
        return super().with_outputs({**outputs, UUID: str(uuid.uuid4())})

    def execute(self, host: Steps) -> str:
        """Format; what mkfs has made is then known, whether or not it took the UUID."""
        host.run(self.argv)
        with Path(self.device).open("rb") as file:
            forget_cache(file.fileno())
        made = tuple(each.mark for each in signatures(self.device))
        if made != self.change.known:
            known = self.change.model_copy(update={"known": made})
            record = host.record if self.lasts == "turn" else host.ledger.record
            record(known)
        return ""


KIND = Kind(
    name="block-device",
    about="a fresh file system on a blank disk or partition, which is left blank; needs root",
    Settings=BlockDeviceSettings,
    target="directory",
    open=BlockDeviceVolume,
    redraws=redraws,
    brings=brings,
)
