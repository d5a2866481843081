"""A block device that was blank and carries a file system of ours, and the way back."""

import os
import shlex
from pathlib import Path
from typing import ClassVar, Literal

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.changes.change import HostChange
from tiltyard.host.devices.block_devices import BlockDevice, number_of
from tiltyard.host.devices.contents import (
    first_written,
    forget_cache,
    make_blank,
    signatures,
)
from tiltyard.host.devices.places import ends, looked_at
from tiltyard.host.devices.safety import Wanted, mistaken
from tiltyard.host.devices.users import claimed


class FormattedDevice(HostChange):
    """A file system on a device that was blank before, and by what it is known as ours."""

    kind: Literal["formatted"] = "formatted"
    given: Path
    size_bytes: int
    marks: dict[str, str]
    """Serial number and the like, as the study names them."""
    filesystem: str
    known: tuple[str, ...]
    """Marks of its signatures: the UUID that mkfs is told, or what was there when it had ended.

    Empty while a mkfs is at work that takes no UUID.
    """

    is_kept_over_boot: ClassVar = True

    @property
    def way_back(self) -> str:
        """What is looked at becomes what it was."""
        return f"# write zeros wherever {self.given} is looked at before it counts as blank"

    @property
    def script(self) -> str:
        """What marks it is removed."""
        return f"wipefs --all {shlex.quote(str(self.given))}"

    def undo(self) -> str | None:
        """Make it blank again, if what is there is what we made.

        A device that is gone, or that carries something else now, is left as it is: what was
        ours there is lost already, and what is there is somebody's.
        """
        try:
            device = BlockDevice.at(self.given)
        except RefusedError:
            return f"left {self.given}: it is gone; it may still carry our {self.filesystem}"
        reason = mistaken(device, Wanted(self.given, self.size_bytes, self.marks))
        if reason is not None:
            return f"left {device}: it is not the one that carries our {self.filesystem}: {reason}"
        with claimed(device) as file:
            return self._blank(device, file)

    def _blank(self, device: BlockDevice, file: int) -> str | None:
        """On a device that nobody else has."""
        status = os.fstat(file).st_rdev
        if number_of(self.given) != f"{os.major(status)}:{os.minor(status)}":
            raise TiltyardError(f"{device}: its name means another device now; not touched")
        forget_cache(file)
        found = signatures(device.node)
        foreign = next((each for each in found if each.mark not in self.known), None)
        if foreign is not None:
            return (
                f"left {device}: it carries {foreign}, which is not known to be ours; "
                f"if nobody needs it: wipefs --all {self.given}"
            )
        if not found:
            written = first_written(file, ends(self.size_bytes))
            if written is not None:
                return f"left {device}: its byte {written} is not zero"
            if first_written(file, looked_at(file, self.size_bytes)) is None:
                return None
            # A mkfs that was cut short: the device was blank, as a whole, right before it.
        make_blank(file, self.size_bytes)
        if left := signatures(device.node):
            raise TiltyardError(f"{device}: still carries {left[0]} after zeros were written")
        return f"removed our {self.filesystem} from {device}"
