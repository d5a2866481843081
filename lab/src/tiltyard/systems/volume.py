"""A file system on a block device: what is the same whatever the device is.

A kind that makes file systems derives its settings from :class:`VolumeSettings` and its system
from :class:`Volume`, and says how its device is come by and when it may be formatted.
"""

import functools
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, field_validator
from pydantic_core import PydanticKnownError

from tiltyard.errors import TiltyardError
from tiltyard.folder import sha256
from tiltyard.host.devices import loops
from tiltyard.host.devices.disks import DISKS, LOOKED_AT
from tiltyard.host.facts import ABSENT
from tiltyard.host.op import MakeDirectory, Run
from tiltyard.host.packages import Tool, install_command
from tiltyard.host.place import HERE, Place
from tiltyard.host.record.geometry import geometry
from tiltyard.host.resumption import BOOT_COMMAND
from tiltyard.host.settings import in_force
from tiltyard.host.steps import Step, Steps, TakeBack
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.booting import BootCommand, boot_command
from tiltyard.systems.filesystems import FILESYSTEMS, Filesystem
from tiltyard.systems.filesystems.driver import Mounting
from tiltyard.systems.filesystems.server import ServerDriver
from tiltyard.systems.image_file import check_size
from tiltyard.systems.kind import (
    Problem,
    ReachableSettings,
    Site,
    Size,
    System,
    Up,
    lost_with,
)
from tiltyard.systems.mount.checks import rights_to_mount
from tiltyard.systems.mount.facts import mount_facts
from tiltyard.systems.mount.mounter import mounter
from tiltyard.systems.mount.system import take_mount_options
from tiltyard.systems.service.settings import ServiceableSettings
from tiltyard.systems.state.keeper import Keeper
from tiltyard.systems.state.settings import FRESH, State, StateSettings
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.tuning.knobs.block import BlockTable
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome


def check_host(wanted: Filesystem, size_bytes: int, place: Place) -> list[Problem]:
    """What keeps a file system from being made on an image of that size."""
    found = check_filesystem(wanted, place, served_from_file=wanted.driver.takes_files)
    if place.is_root and not place.find_all([_LOOPS]):
        found.append(Problem("error", "there are no loop devices", "modprobe loop"))
    return found + check_size(wanted.name, size_bytes, wanted.min_bytes, wanted.typical_bytes)


def check_filesystem(
    wanted: Filesystem, place: Place = HERE, *, served_from_file: bool = False
) -> list[Problem]:
    """What keeps a file system from being made and mounted, whatever it lies on.

    Args:
        wanted: the file system.
        place: where.
        served_from_file: whether a server mounts it from an image file, for which a user needs no
            more than namespaces of his own.
    """
    found: list[Problem] = []
    if not place.is_root and served_from_file:
        found += rights_to_mount(served=True)
    elif not place.is_root:
        found.append(
            Problem(
                "error",
                f"only root can make and mount a fresh {wanted.name}",
                "sudo; without root, compare directories on file systems that are mounted",
            )
        )
    if not place.has(wanted.tool.command):
        text = f"{wanted.tool.command} is not installed"
        remedy = install_command(place, wanted.tool.package)
        found.append(Problem("error", text, remedy))
    return [*found, *wanted.driver.problems(wanted.name, place)]


_LOOPS: Final = "/dev/loop-control"
_QUEUE: Final = ("scheduler", "read_ahead_kb")
_TRIALS: Final = "tiltyard"
"""Where trials work in it."""
_NAMES = FILESYSTEMS.names


class VolumeSettings(ServiceableSettings, ReachableSettings):
    """What is made, and how."""

    filesystem: str = Field(
        description="The file system to make.", json_schema_extra={"enum": list(_NAMES)}
    )
    mkfs: tuple[str, ...] = Field(
        default=(), description='Options for mkfs, one word each: ["-O", "^has_journal"].'
    )
    mount: tuple[str, ...] = Field(
        default=(), description='Mount options, one word each: ["noatime", "commit=60"].'
    )
    state: State = Field(
        default=FRESH,
        validate_default=True,
        description="What the file system has gone through before its turn: nothing (fresh), or "
        "filled, or aged by a history. Made once in each start of the run and then, wherever a "
        "fresh one would be formatted, put back bit for bit.",
    )
    reset: Literal["none", "remount", "mkfs", "reboot"] = Field(
        default="mkfs",
        description="What happens before each turn: format again (mkfs), boot the host and then "
        "format again (reboot), or let the file system age and mount it again (remount) or leave "
        "it mounted (none).",
    )
    reboot_command: BootCommand = BOOT_COMMAND
    scheduler: str | None = Field(
        default=None, description="I/O scheduler of the device; the kernel's if left out."
    )
    read_ahead: Size | None = Field(
        default=None,
        description="Read-ahead of the device; the kernel's if left out.",
        ge=0,
        multiple_of=1024,
    )

    @property
    def makes_anew(self) -> bool:
        """Whether each turn begins with a file system of its own."""
        return self.reset in ("mkfs", "reboot")

    def tuned(
        self,
        profile: Profile,
        place: Place,  # noqa: ARG002
    ) -> tuple[Self, Profile, list[Outcome]]:
        """A profile's mount options go before our own; what we set of the queue stays ours."""
        mount, left, taken = take_mount_options(profile, self.filesystem, self.mount)
        own = {"scheduler": self.scheduler, "read_ahead_kb": self.read_ahead}
        if block := profile.table(BlockTable):
            spoken = {key for key, value in own.items() if value is not None}
            left = left.with_table("block", block.without(spoken))
        return self.model_copy(update={"mount": mount}), left, taken

    @field_validator("filesystem")
    @classmethod
    def _known(cls, name: str) -> str:
        """One of the list, said in pydantic's own words for a choice."""
        if name not in _NAMES:
            listed = ", ".join(f"'{known}'" for known in _NAMES[:-1])
            expected = f"{listed} or '{_NAMES[-1]}'"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return name


class Volume(System):
    """One file system on a device of its kind."""

    def __init__(
        self, settings: VolumeSettings, site: Site, slug: str, home: Path | None = None
    ) -> None:
        """Nothing is touched yet.

        Args:
            settings: what is made.
            site: where.
            slug: tells systems apart that are mounted at once.
            home: where files are kept that are as large as the device; by default in ``site.work``.
        """
        self._settings = settings
        self._filesystem = FILESYSTEMS.named(settings.filesystem)
        self._site = site
        self._name = site.ledger.name(f"mnt-{slug}")
        self._formatted = False
        self._home = home
        self.place = site.place
        key = _key_of(settings)
        self._keeper = None if settings.state.is_fresh else self._keeper_of(settings.state, key)
        # Who shares what is kept finds it by the name that it was made with.
        self._called = site.ledger.name(f"pool-{key if self._keeper else slug}")
        self._device = ""
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self._mounter = mounter(self.steps, site.ledger.name(f"fs-{slug}"))

    @property
    def _target(self) -> Path:
        """Where it is mounted."""
        return self._site.scratch / self._name

    @abstractmethod
    def _attach(self) -> Iterable[Step]:
        """Come by the device, and set :attr:`_device` to its path or an output."""

    @abstractmethod
    def _require_formattable(self) -> None:
        """Make sure, at the last moment, that the device may be formatted.

        Raises:
            RefusedError: if not.
        """

    @property
    def _behind(self) -> Path | None:
        """The image behind the loop device, if it is on one."""
        return None

    @abstractmethod
    def _queue_step(self, name: str, value: str) -> Step:
        """Set a setting of the device's queue."""

    @abstractmethod
    def _device_facts(self, device: str) -> dict[str, str]:
        """What the device is."""

    def _format(self) -> Iterator[Step]:
        """Make the file system; with force, for it is made sure that the device is ours."""
        self._require_formattable()
        yield Run(argv=self._filesystem.mkfs(self._settings.mkfs, self._device, self._called))

    def _limit(self) -> Iterable[Step]:
        """Limit it, after it is formatted and before it is mounted; nothing by default."""
        return ()

    def steps_up(self) -> Iterator[Step]:
        """Attach, format, set the queue, mount; nothing where it stays mounted."""
        if not self.steps:
            yield from self._make_state()
            yield from self._prepare()

    def steps_refresh(self) -> Iterable[Step]:
        """Unmount and mount again, so that nothing is cached; not with ``reset = "none"``."""
        return () if self._settings.reset == "none" else self._renew()

    def steps_down(self) -> Iterable[Step]:
        """Unmount and detach, unless the study wants it left mounted (``reset = "none"``)."""
        return () if self._settings.reset == "none" else super().steps_down()

    def _prepare(self) -> Iterator[Step]:
        """For a turn."""
        settings = self._settings
        yield from self._mounter.open()
        yield from self._attach()
        yield from self._filesystem.driver.prepare(self._mounting())
        is_made = False
        if settings.makes_anew or not self._formatted:
            is_made = self._keeper is None
            if self._keeper is None:
                yield from self._format()
            else:
                yield from self._put_back(self._keeper)
            self._formatted = True
        # After mkfs: where that discards, the kernel may set a read-ahead of its own.
        if settings.scheduler is not None:
            yield self._queue_step("scheduler", settings.scheduler)
        if settings.read_ahead is not None:
            yield self._queue_step("read_ahead_kb", str(settings.read_ahead // 1024))
        yield from self._limit()
        yield from self._mount(is_made=is_made)

    def _make_state(self) -> Iterator[Step]:
        """Make and keep the state, if it is not kept yet, and leave nothing up.

        So the first turn goes the same way as every later one.
        """
        if self._keeper is None or self._keeper.is_kept:
            return
        yield from self._mounter.open()
        yield from self._attach()
        yield from self._filesystem.driver.prepare(self._mounting())
        yield from self._format()
        yield from self._mount(is_made=True)
        yield from self._keeper.make(self._target, self._renew())
        yield TakeBack(everything=False)
        yield self._keeper.keep(self._device)
        yield TakeBack()

    def _put_back(self, keeper: Keeper) -> Iterator[Step]:
        """Make the device what it was when its state was made, where it would be formatted."""
        self._require_formattable()
        yield keeper.put_back(self._device)

    def _keeper_of(self, state: StateSettings, key: str) -> Keeper:
        home = self._home or self._site.scratch
        return Keeper(state, self._site, home / self._site.ledger.name(f"state-{key}.img"))

    def _state_problems(self, needed_bytes: int) -> list[Problem]:
        """What keeps a state from being made; ``needed_bytes``: room for it and its device."""
        return self._keeper.problems(needed_bytes) if self._keeper else []

    def _mount(self, *, is_made: bool) -> Iterator[Step]:
        """Mount it on a directory that is made for it; ``is_made``: mkfs has just made it."""
        yield MakeDirectory(path=self._target)
        mounting = self._mounting(is_made=is_made)
        yield from self._filesystem.driver.mount(self._filesystem.name, mounting)
        yield self._mounter.make(self._target / _TRIALS, stays=False)

    def _renew(self) -> Iterable[Step]:
        """Unmount and mount again."""
        return self._filesystem.driver.renew(self._filesystem.name, self._mounting())

    def _mounting(self, *, is_made: bool = False) -> Mounting:
        """The last step, which is taken again for each refresh."""
        return Mounting(
            mounter=self._mounter,
            device=self._device,
            target=self._target,
            options=self._settings.mount,
            behind=self._behind,
            called=self._called,
            is_made=is_made,
        )

    def look(self) -> Up:
        """What the kernel says of what is mounted now, and a directory to work in."""
        queues = (f"/sys/block/*/queue/{name}" for name in (*_QUEUE, "write_cache"))
        files, space = (*LOOKED_AT, *queues), (str(self._target),)
        direct = (str(self._target / _TRIALS),)
        with self.place.looking(files=files, links=(DISKS,), space=space, direct=direct):
            return self._look()

    def _look(self) -> Up:
        device = self._device.replace(loops.NAME, self.steps.outputs.get(loops.NAME, loops.NAME))
        queue = queue_facts(device, self.place)
        made = self._filesystem
        directory = self._target / _TRIALS
        driver = made.driver
        asked = self._settings.mount if driver.shows_options else ()
        types = driver.types(made.name)
        driver.require_set(replace(self._mounting(), device=device), self.place)
        facts = mount_facts(self._mounter, directory, types, asked, driver.synonyms)
        return Up(
            target=directory,
            commands=self.steps.executed,
            prefix=self._mounter.prefix,
            devices=(device,) if queue else (),
            servers=self._mounter.servers,
            lost=lost_with(self._mounter.servers),
            facts={
                **facts,
                "mkfs": version_of(made.tool, self.place),
                **geometry(facts.get("file system", ""), device, self.place, self._target),
                **driver.remarks,
                **self._device_facts(device),
                **queue,
                "reset before each turn": self._settings.reset,
                **(self._keeper.facts if self._keeper else {"state": FRESH}),
            },
        )


def _key_of(settings: VolumeSettings) -> str:
    """Systems whose file systems are made alike share what is kept."""
    alike = {"filesystem", "mkfs", "mount", "state", "backing", "device"}
    return sha256(settings.model_dump_json(include=alike).encode())[:8]


def redraws(settings: VolumeSettings) -> str:
    """What each turn makes again, in words."""
    words = {"mkfs": "a fresh format", "reboot": "a boot, a fresh format", "remount": "a remount"}
    return words.get(settings.reset, "")


def brings(settings: VolumeSettings, _root: Path) -> Iterator[Brought]:
    """Words for mkfs that name a path, what boots a host, and options of a server."""
    yield from untrusted_inputs.paths_among("mkfs", "mkfs", settings.mkfs)
    yield from boot_command(settings.reboot_command)
    if isinstance(FILESYSTEMS.named(settings.filesystem).driver, ServerDriver):
        yield from untrusted_inputs.server_options("mount", settings.filesystem, settings.mount)


def queue_facts(device: str, place: Place = HERE) -> dict[str, str]:
    """How a device's queue is set now; empty for what is none."""
    paths = [str(loops.queue_setting(device, name, place)) for name in _QUEUE]
    said = place.read_all(paths)
    if paths[0] not in said:
        return {}
    scheduler, read_ahead = (in_force(said.get(path, "")) for path in paths)
    return {"I/O scheduler": scheduler, "read-ahead": f"{read_ahead} KiB"}


@functools.cache
def version_of(tool: Tool, place: Place = HERE) -> str:
    """Version of a program, in its own words: the first line that has a number in it."""
    if not tool.version:
        return ABSENT
    try:
        output = place.run((tool.command, *tool.version))
        lines = (output.stdout or output.stderr).splitlines()
    except TiltyardError as error:
        # Some call it a failure to be asked, and answer nevertheless (exfatprogs).
        lines = [str(error).partition(": ")[2]]
    return next((line for line in lines if any(map(str.isdigit, line))), ABSENT)
