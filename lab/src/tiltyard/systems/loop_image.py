"""Kind ``loop-image``: a fresh file system on a loop device over an image file.

With ``reset = "mkfs"`` and ``"reboot"`` all systems of a study share one image, so all of them live
on the same blocks of the same disk, and each is formatted anew for each of its turns. With
``remount`` and ``none`` a file system is formatted at its first turn after each start of the run
and then ages: each system then needs an image of its own, which lies elsewhere on the disk.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from tiltyard.errors import RefusedError
from tiltyard.folder import sha256
from tiltyard.host.changes import AttachedLoop, Change, Mounted, SetLimit
from tiltyard.host.devices import loops, throttles
from tiltyard.host.steps import Step, Steps
from tiltyard.recipe import output
from tiltyard.systems.image_file import ImageBacking, ImageFile
from tiltyard.systems.kind import Kind, Problem, Site, Size
from tiltyard.systems.state.keeper import Keeper
from tiltyard.systems.volume import SetQueue, Volume, VolumeSettings, brings, check_host, redraws
from tiltyard.units import format_size


class LoopImageSettings(VolumeSettings):
    """What is made, and on what."""

    backing: ImageBacking = Field(
        default=ImageBacking(), description="What the file system lies on."
    )
    bandwidth: Size | None = Field(
        default=None,
        description="Limit of reads, and of writes, of the loop device, in bytes per second; none "
        "if it is left out. Needs the I/O controller of cgroup v1 (blkio).",
        gt=0,
    )


class LoopImage(Volume):
    """One file system on an image; see the module's text for who shares an image with whom."""

    def __init__(self, name: str, settings: LoopImageSettings, site: Site) -> None:
        """Nothing is touched yet."""
        slug = sha256(name.encode())[:8] if not settings.makes_anew else "shared"
        self._file = ImageFile(settings.backing, site, slug)
        super().__init__(settings, site, slug, self._file.home)
        self._backing = settings.backing
        self._bandwidth = settings.bandwidth
        self._image = self._file.path
        self._looped = os.geteuid() == 0 or not self._filesystem.driver.takes_files

    def problems(self) -> list[Problem]:
        """Root, loop devices, mkfs, the kernel's driver, size and room."""
        found = check_host(self._filesystem, self._backing.image) + self._file.problems()
        found += self._state_problems(2 * self._backing.image)
        if self._settings.reset == "reboot" and self._file.is_in_memory:
            text = 'reset = "reboot": the image would be in memory, which a boot empties'
            mend = 'backing.at = a directory on a disk, or reset = "mkfs"'
            found.append(Problem("error", text, mend))
        if not self._looped and self._of_a_device:
            text = f"{self._of_a_device[0]} is a setting of a loop device, which only root has"
            found.append(Problem("error", text, "sudo, or a study that leaves it as it is"))
        elif self._bandwidth is not None and (missing := throttles.missing()):
            found.append(Problem("error", missing, "leave out bandwidth"))
        return found

    def _attach(self) -> Iterator[Step]:
        """The image, laid out, behind a loop device."""
        yield from self._file.steps()
        self._device = loops.ANY if self._looped else str(self._image)
        if self._looped:
            yield AttachLoop(image=self._image, output=loops.NAME)

    def _require_formattable(self) -> None:
        """The step looks: only it knows the device."""

    def _format(self) -> Iterator[Step]:
        """What is formatted is the image that we made."""
        yield from self._require_image()
        mend = self._file.mend()
        held = self._filesystem.driver.holds_made
        yield from (mend,) if held else ()
        yield from super()._format()
        yield from () if held else (mend,)

    def _put_back(self, keeper: Keeper) -> Iterator[Step]:
        """What is written to is the image that we made."""
        yield from self._require_image()
        yield from super()._put_back(keeper)
        yield self._file.mend()

    def _require_image(self) -> Iterator[Step]:
        if self._looped:
            yield RequireImage(device=self._device, image=self._image)

    def _mounted(self) -> Change:
        return Mounted(target=self._target, image=self._image)

    def _queue_step(self, name: str, value: str) -> Step:
        return SetQueue(device=self._device, image=self._image, name=name, value=value)

    def _limit(self) -> Iterator[Step]:
        """A known bandwidth, where one is asked for."""
        if self._bandwidth is not None:
            yield LimitBandwidth(
                device=self._device, image=self._image, bytes_per_s=self._bandwidth
            )

    def _device_facts(self, device: str) -> dict[str, str]:
        what = "loop device over an image" if self._looped else "an image, without a loop device,"
        direct = {}
        if self._looped:
            direct = {"direct I/O to the image": "yes" if loops.does_direct_io(device) else "no"}
        limit = {} if self._bandwidth is None else {"limit": f"{format_size(self._bandwidth)}/s"}
        return {
            "device": f"{what} of {format_size(self._image.stat().st_size)}",
            **self._file.facts(),
            **direct,
            **limit,
        }

    @property
    def _of_a_device(self) -> list[str]:
        """Settings in use that an image file alone does not have."""
        names = ("scheduler", "read_ahead", "bandwidth")
        return [name for name in names if getattr(self._settings, name) is not None]


class AttachLoop(Step):
    """A loop device over an image; it yields its name."""

    kind: Literal["attach-loop"] = "attach-loop"
    image: Path

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self._argv)

    @property
    def script(self) -> str:
        """Its name alone is kept."""
        return output(self.output, f'basename "$({self.line})"')

    @property
    def _argv(self) -> tuple[str, ...]:
        return ("losetup", "--find", "--show", "--direct-io=on", str(self.image))

    def changes(self) -> Sequence[Change]:
        """It is detached."""
        return (AttachedLoop(image=self.image),)

    def execute(self, host: Steps) -> str:
        """Attach."""
        return Path(host.run(self._argv).stdout).name


class RequireImage(Step):
    """The image that we made is still what a loop device has behind it."""

    kind: Literal["require-image"] = "require-image"
    device: str
    image: Path

    @property
    def line(self) -> str:
        """In words."""
        return f"# make sure that {self.device} is still {self.image}"

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it only looks
        """Look.

        Raises:
            RefusedError: if it is not.
        """
        if loops.backing_file(self.device) != self.image:
            raise RefusedError(f"{self.device} is no longer behind {self.image}; not formatted")
        return ""


class LimitBandwidth(Step):
    """A limit of reads, and of writes, of a loop device."""

    kind: Literal["limit-bandwidth"] = "limit-bandwidth"
    device: str
    image: Path
    bytes_per_s: int

    @property
    def line(self) -> str:
        """In words."""
        limit = format_size(self.bytes_per_s)
        return f"# limit reads and writes of {self.device} to {limit}/s each"

    def changes(self) -> Sequence[Change]:
        """It is taken away."""
        return (SetLimit(device=self.device, image=self.image),)

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it needs no command
        """Set it."""
        throttles.set_limit(self.device, self.bytes_per_s)
        return ""


KIND = Kind(
    name="loop-image",
    about="a fresh file system on a loop device over an image file; needs root",
    Settings=LoopImageSettings,
    target="directory",
    open=LoopImage,
    redraws=redraws,
    brings=brings,
)
