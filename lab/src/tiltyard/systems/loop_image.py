"""Kind ``loop-image``: a fresh file system on a loop device over an image file.

With ``reset = "mkfs"`` all systems of a study share one image, so all of them live on the same
blocks of the same disk, and each is formatted anew for each of its turns. With ``remount`` and
``none`` a file system is formatted at its first turn after each start of the run and then ages:
each system then needs an image of its own, which lies elsewhere on the disk.
"""

import functools
import os
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticKnownError

from tiltyard.errors import HostLacksError, RefusedError, TiltyardError
from tiltyard.folder import sha256
from tiltyard.host import commands, loops, throttles
from tiltyard.host.changes import (
    AttachedLoop,
    MadeDirectory,
    MadeFile,
    Mounted,
    SetLimit,
    SetQueue,
)
from tiltyard.host.mounts import mount_of, mounts_at
from tiltyard.systems.filesystems import FILESYSTEMS, Filesystem, filesystem
from tiltyard.systems.image import lay_out, restore_layout
from tiltyard.systems.image_checks import check_host
from tiltyard.systems.kind import (
    Kind,
    KindSettings,
    Problem,
    Site,
    Size,
    System,
    SystemSettings,
    Up,
)
from tiltyard.systems.steps import Steps
from tiltyard.units import format_size

_NAMES = [entry.name for entry in FILESYSTEMS]


class ImageBacking(KindSettings):
    """The image file."""

    image: Size = Field(default=4 * 2**30, description="Size of the image file.", gt=0)
    at: Path | None = Field(
        default=None,
        description="Directory for the image file; the study's own folder if it is left out.",
    )


class LoopImageSettings(SystemSettings):
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
    backing: ImageBacking = Field(
        default=ImageBacking(), description="What the file system lies on."
    )
    reset: Literal["none", "remount", "mkfs"] = Field(
        default="mkfs",
        description="What happens before each turn: format anew (mkfs), or let the file system "
        "age and mount it anew (remount) or leave it mounted (none).",
    )
    scheduler: str | None = Field(
        default=None, description="I/O scheduler of the loop device; the kernel's if left out."
    )
    read_ahead: Size | None = Field(
        default=None,
        description="Read-ahead of the loop device; the kernel's if left out.",
        ge=0,
        multiple_of=1024,
    )

    bandwidth: Size | None = Field(
        default=None,
        description="Limit of reads, and of writes, of the loop device, in bytes per second; none "
        "if it is left out. Needs the I/O controller of cgroup v1 (blkio).",
        gt=0,
    )

    @field_validator("filesystem")
    @classmethod
    def _known(cls, name: str) -> str:
        """One of the list, said in pydantic's own words for a choice."""
        if name not in _NAMES:
            listed = ", ".join(f"'{known}'" for known in _NAMES[:-1])
            expected = f"{listed} or '{_NAMES[-1]}'"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return name


class LoopImage(System):
    """One file system on an image; see the module's text for who shares an image with whom."""

    def __init__(self, name: str, settings: LoopImageSettings, site: Site) -> None:
        """Nothing is touched yet."""
        self._settings = settings
        self._filesystem = filesystem(settings.filesystem)
        self._site = site
        at = settings.backing.at
        self._home = ((site.root / at.expanduser()) if at else site.work).resolve()
        ages = settings.reset != "mkfs"
        slug = sha256(name.encode())[:8] if ages else "shared"
        self._image = self._home / site.ledger.name(f"{slug}-{settings.backing.image}.img")
        self._target = site.work.resolve() / site.ledger.name(f"mnt-{slug}")
        self._formatted = False
        self._steps = Steps(site)

    def problems(self) -> list[Problem]:
        """Root, loop devices, mkfs, the kernel's driver, size and room."""
        settings = self._settings
        found = check_host(self._filesystem, settings.backing.image, self._home)
        if settings.bandwidth is not None and (missing := throttles.missing()):
            found.append(Problem("error", missing, "leave out bandwidth"))
        return found

    def bring_up(self) -> Up:
        """Attach, format, set the queue, mount."""
        try:
            return self._look(() if self._steps else self._prepare())
        except BaseException:
            self._steps.undo()
            raise

    def refresh(self) -> None:
        """Unmount and mount again, so that nothing is cached; not with ``reset = "none"``."""
        if self._settings.reset == "none":
            return
        device = mounts_at(self._target)[-1].source
        self._steps.undo_last()
        self._mount(device)

    def take_down(self) -> None:
        """Unmount and detach, unless the study wants it left mounted (``reset = "none"``)."""
        if self._settings.reset != "none":
            self._steps.undo()

    def _prepare(self) -> tuple[commands.Command, ...]:
        """Every step is in the ledger before it is taken; what was executed."""
        settings = self._settings
        self._ensure_image()
        self._steps.record(AttachedLoop(image=self._image))
        attach = ("losetup", "--find", "--show", "--direct-io=on", str(self._image))
        device = self._steps.run(attach).stdout
        if settings.scheduler is not None:
            self._set_queue(device, "scheduler", settings.scheduler)
        if settings.read_ahead is not None:
            self._set_queue(device, "read_ahead_kb", str(settings.read_ahead // 1024))
        if settings.reset == "mkfs" or not self._formatted:
            if loops.backing_file(device) != self._image:
                raise RefusedError(f"{device} is no longer behind {self._image}; not formatted")
            self._steps.run(self._filesystem.mkfs(settings.mkfs, device))
            self._formatted = True
        if settings.bandwidth is not None:
            self._steps.record(SetLimit(device=device, image=self._image))
            throttles.set_limit(device, settings.bandwidth)
        self._steps.record(MadeDirectory(path=self._target)).path.mkdir()
        self._mount(device)
        return self._steps.executed

    def _mount(self, device: str) -> None:
        """The last step, so that it can be taken back alone."""
        settings = self._settings
        self._steps.record(Mounted(target=self._target, image=self._image))
        options = ("-o", ",".join(settings.mount)) if settings.mount else ()
        self._steps.run(("mount", "-t", settings.filesystem, *options, device, str(self._target)))

    def _ensure_image(self) -> None:
        """The image, laid out: made at the first turn, mended at the later ones."""
        made = MadeFile(path=self._image)
        if self._site.ledger.holds(made):
            if self._settings.reset == "mkfs":
                restore_layout(self._image, self._site.check)
            return
        self._site.ledger.record(made)
        try:
            lay_out(self._image, self._settings.backing.image, self._site.check)
        except BaseException as error:
            self._site.ledger.undo(made)
            if isinstance(error, OSError):
                raise HostLacksError(f"{self._image}: {error.strerror}") from error
            raise

    def _look(self, executed: tuple[commands.Command, ...]) -> Up:
        """What the kernel says of what is mounted now, and a directory to work in."""
        mount = mounts_at(self._target)[-1]
        device = mount.source
        directory = self._target / "tiltyard"
        directory.mkdir(exist_ok=True)
        status = os.statvfs(self._target)
        image_bytes = self._image.stat().st_size
        below = mount_of(self._home)
        return Up(
            target=directory,
            commands=executed,
            facts={
                "file system": mount.type,
                "mkfs": _version(self._filesystem),
                "mount options": mount.options,
                "block size": format_size(status.f_bsize),
                "size": format_size(status.f_blocks * status.f_frsize),
                "free": format_size(status.f_bavail * status.f_frsize),
                "device": f"loop device over an image of {format_size(image_bytes)}",
                "image lies on": f"{below.type} on {below.source}",
                "direct I/O to the image": "yes" if loops.does_direct_io(device) else "no",
                "I/O scheduler": loops.chosen(loops.queue_setting(device, "scheduler")),
                "read-ahead": f"{loops.chosen(loops.queue_setting(device, 'read_ahead_kb'))} KiB",
                **_limit_facts(self._settings.bandwidth),
                "reset before each turn": self._settings.reset,
            },
        )

    def _set_queue(self, device: str, name: str, value: str) -> None:
        """Set a queue setting and verify that the kernel took it."""
        setting = loops.queue_setting(device, name)
        before = loops.chosen(setting)
        if before == value:
            return
        self._steps.record(SetQueue(device=device, image=self._image, name=name, before=before))
        refused = ""
        try:
            setting.write_text(value)
        except OSError as error:
            refused = f" ({error.strerror})"
        if loops.chosen(setting) != value:
            offered = setting.read_text().strip()
            raise TiltyardError(f'{setting}: "{value}" is not taken{refused}; it says "{offered}"')


def _limit_facts(bandwidth: int | None) -> dict[str, str]:
    """The limit, where one is set."""
    return {} if bandwidth is None else {"limit": f"{format_size(bandwidth)}/s"}


@functools.cache
def _version(wanted: Filesystem) -> str:
    """Version of a mkfs, in its own words."""
    output = commands.run((wanted.tool.command, *wanted.tool.version))
    return (output.stdout or output.stderr).splitlines()[0]


KIND = Kind(
    name="loop-image",
    about="a fresh file system on a loop device over an image file; needs root",
    Settings=LoopImageSettings,
    target="directory",
    open=LoopImage,
    redraws=lambda settings: {"mkfs": "a fresh format", "remount": "a remount"}.get(
        settings.reset, ""
    ),
)
