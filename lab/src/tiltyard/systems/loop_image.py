"""Kind ``loop-image``: a fresh file system on a loop device over an image file.

With ``reset = "mkfs"`` and ``"reboot"`` all systems of a study share one image, so all of them live
on the same blocks of the same disk, and each is formatted anew for each of its turns. With
``remount`` and ``none`` a file system is formatted at its first turn after each start of the run
and then ages: each system then needs an image of its own, which lies elsewhere on the disk.
"""

import os

from pydantic import Field

from tiltyard.errors import RefusedError
from tiltyard.folder import sha256
from tiltyard.host.changes import AttachedLoop, Change, Mounted, SetLimit, SetQueue
from tiltyard.host.devices import loops, throttles
from tiltyard.systems.image_checks import check_host
from tiltyard.systems.image_file import ImageBacking, ImageFile
from tiltyard.systems.kind import Kind, Problem, Site, Size
from tiltyard.systems.volume import Volume, VolumeSettings, brings, redraws
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
        if not self._looped and self._of_a_device:
            text = f"{self._of_a_device[0]} is a setting of a loop device, which only root has"
            found.append(Problem("error", text, "sudo, or a study that leaves it as it is"))
        elif self._bandwidth is not None and (missing := throttles.missing()):
            found.append(Problem("error", missing, "leave out bandwidth"))
        return found

    def _attach(self) -> str:
        """The image, laid out, behind a loop device."""
        self._file.ensure(mend=self._settings.makes_anew or not self._formatted)
        if not self._looped:
            return str(self._image)
        self._steps.record(AttachedLoop(image=self._image))
        attach = ("losetup", "--find", "--show", "--direct-io=on", str(self._image))
        return self._steps.run(attach, stand_in=loops.ANY).stdout

    def _insist(self, device: str) -> None:
        """The image that we made is still what the device has behind it."""
        if self._steps.dry:
            return
        if self._looped and loops.backing_file(device) != self._image:
            raise RefusedError(f"{device} is no longer behind {self._image}; not formatted")

    def _mounted(self) -> Change:
        return Mounted(target=self._target, image=self._image)

    def _queue_change(self, device: str, name: str, before: str, value: str) -> Change:
        del value
        return SetQueue(device=device, image=self._image, name=name, before=before)

    def _limit(self, device: str) -> None:
        """A known bandwidth, where one is asked for."""
        if self._bandwidth is not None:
            limit_bytes = self._bandwidth
            self._steps.record(SetLimit(device=device, image=self._image))
            said = f"limit reads and writes of {device} to {format_size(limit_bytes)}/s each"
            self._steps.act(said, lambda: throttles.set_limit(device, limit_bytes))

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


KIND = Kind(
    name="loop-image",
    about="a fresh file system on a loop device over an image file; needs root",
    Settings=LoopImageSettings,
    target="directory",
    open=LoopImage,
    redraws=redraws,
    brings=brings,
)
