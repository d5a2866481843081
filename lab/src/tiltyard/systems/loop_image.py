"""Kind ``loop-image``: a fresh file system on a loop device over an image file.

With ``reset = "mkfs"`` and ``"reboot"`` all systems of a study share one image, so all of them live
on the same blocks of the same disk, and each is formatted anew for each of its turns. With
``remount`` and ``none`` a file system is formatted at its first turn after each start of the run
and then ages: each system then needs an image of its own, which lies elsewhere on the disk.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tiltyard.folder import sha256
from tiltyard.host.devices import loops, throttles
from tiltyard.host.op import AttachLoop, RequireBehind, SetOfLoop
from tiltyard.host.steps import Op, Step, Text
from tiltyard.systems.image_file import ImageBacking, ImageFile
from tiltyard.systems.kind import Kind, Problem, Site, Size
from tiltyard.systems.state.keeper import Keeper
from tiltyard.systems.volume import (
    Volume,
    VolumeSettings,
    brings,
    check_host,
    redraws,
)
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
        super().__init__(settings, site, slug, None if site.place.is_remote else self._file.home)
        self._backing = settings.backing
        self._bandwidth = settings.bandwidth
        asks_root = not self._filesystem.driver.takes_files
        self._looped = site.place.is_remote or site.place.is_root or asks_root

    def problems(self) -> list[Problem]:
        """Root, loop devices, mkfs, the kernel's driver, size and room."""
        found = check_host(self._filesystem, self._backing.image, self.place)
        found += self._file.problems()
        found += self._state_problems(2 * self._backing.image)
        if self._settings.reset == "reboot" and self._file.is_in_memory:
            text = 'reset = "reboot": the image would be in memory, which a boot empties'
            mend = 'backing.at = a directory on a disk, or reset = "mkfs"'
            found.append(Problem("error", text, mend))
        if not self._looped and self._of_a_device:
            text = f"{self._of_a_device[0]} is a setting of a loop device, which only root has"
            found.append(Problem("error", text, "sudo, or a study that leaves it as it is"))
        elif self._bandwidth is not None and (missing := throttles.missing(self.place)):
            found.append(Problem("error", missing, "leave out bandwidth"))
        return found

    @property
    def _image(self) -> Path:
        return self._file.path

    def _attach(self) -> Iterator[Step]:
        """The image, laid out, behind a loop device."""
        yield from self._file.steps()
        self._device = loops.ANY if self._looped else str(self._image)
        if self._looped:
            yield AttachLoop(file=self._image, output=loops.NAME)

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
            yield RequireBehind(device=loops.NAME, file=self._image)

    @property
    def _behind(self) -> Path | None:
        return self._image if self._looped else None

    def _queue_step(self, name: str, value: str) -> Step:
        return SetOfLoop(device=loops.NAME, file=self._image, name=name, value=value)

    def _limit(self) -> Iterator[Step]:
        """A known bandwidth, where one is asked for."""
        if self._bandwidth is not None:
            yield LimitBandwidth(device=loops.NAME, image=self._image, bytes_per_s=self._bandwidth)

    def _device_facts(self, device: str) -> dict[str, str]:
        what = "loop device over an image" if self._looped else "an image, without a loop device,"
        direct = {}
        if self._looped:
            is_direct = loops.does_direct_io(device, self.place)
            direct = {"direct I/O to the image": "yes" if is_direct else "no"}
        limit = {} if self._bandwidth is None else {"limit": f"{format_size(self._bandwidth)}/s"}
        return {
            "device": f"{what} of {format_size(self._backing.image)}",
            **self._file.facts(),
            **direct,
            **limit,
        }

    @property
    def _of_a_device(self) -> list[str]:
        """Settings in use that an image file alone does not have."""
        names = ("scheduler", "read_ahead", "bandwidth")
        return [name for name in names if getattr(self._settings, name) is not None]


class LimitBandwidth(Op):
    """A limit of reads, and of writes, of a loop device; it would outlive the attachment."""

    kind: Literal["limit-bandwidth"] = "limit-bandwidth"
    device: str
    """Its name."""
    image: Path
    """What is behind it: the limit goes only as long as it is."""
    bytes_per_s: int

    def op(self, text: Text) -> dict[str, object]:
        """Both, and how much."""
        behind = [text(self.device), text(self.image)]
        return {"op": "limit", "behind": behind, "bytes_per_s": self.bytes_per_s}

    @property
    def line(self) -> str:
        """In words."""
        limit = format_size(self.bytes_per_s)
        return f"# limit reads and writes of /dev/{self.device} to {limit}/s each"

    @property
    def way_back(self) -> str:
        """The limit goes."""
        return f"# take the limit of /dev/{self.device} away"


KIND = Kind(
    name="loop-image",
    about="a fresh file system on a loop device over an image file; needs root",
    Settings=LoopImageSettings,
    target="directory",
    open=LoopImage,
    redraws=redraws,
    brings=brings,
)
