"""A block device that was blank and carries a file system of ours, and the way back."""

import os
from pathlib import Path
from typing import ClassVar, Literal

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.changes.change import HostChange
from tiltyard.host.devices.block_devices import BlockDevice, number_of
from tiltyard.host.devices.contents import (
    END_BYTES,
    blank_ends,
    first_written,
    forget_cache,
    signatures,
)
from tiltyard.host.devices.safety import Wanted, mistaken
from tiltyard.host.devices.users import claimed
from tiltyard.units import format_size


class FormattedDevice(HostChange):
    """A file system on a device whose ends were blank before, and by what it is known as ours."""

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
        """Both ends become what they were."""
        return f"# write zeros over the first and the last {format_size(END_BYTES)} of {self.given}"

    def undo(self) -> str | None:
        """Make both ends blank again, if what is there is what we made.

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
            written = first_written(file, self.size_bytes)
            return None if written is None else f"left {device}: its byte {written} is not zero"
        blank_ends(file, self.size_bytes)
        if left := signatures(device.node):
            raise TiltyardError(f"{device}: still carries {left[0]} after both ends were zeroed")
        return f"removed our {self.filesystem} from {device}"
