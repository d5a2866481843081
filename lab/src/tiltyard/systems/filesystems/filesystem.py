"""What is known of a file system: how it is made, and who mounts it."""

from dataclasses import dataclass, field

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.driver import Driver, KernelDriver

MIB = 2**20


@dataclass(frozen=True)
class Filesystem:
    """One entry of the list."""

    name: str
    about: str
    tool: Tool
    """What makes it."""
    flags: tuple[str, ...]
    """Given to every mkfs, before the options of the study."""
    min_bytes: int
    """Smallest image that its mkfs takes with default options."""
    typical_bytes: int
    """Below this size its mkfs chooses other defaults than on a disk."""
    force: tuple[str, ...] = ()
    """What makes its mkfs overwrite whatever is there: for our own images, never for a disk."""
    uuid: tuple[str, ...] = ()
    """Options that give it a UUID chosen beforehand, where ``{}`` stands; empty: it takes none."""
    extended: str = ""
    """Value of ``-E``; an option that is given twice replaces itself, so it is merged."""
    driver: Driver = field(default_factory=KernelDriver)
    """What mounts it."""

    def known_by(self, uuid: str) -> tuple[str, ...]:
        """Options of its mkfs that make it known by that UUID."""
        return tuple(word.format(uuid) for word in self.uuid)

    def mkfs(
        self, options: tuple[str, ...], device: str, called: str = "", *, force: bool = True
    ) -> tuple[str, ...]:
        """The argument list that formats a device, or an image file, with options of the study.

        Args:
            options: of mkfs, one word each.
            device: path of the device.
            called: name of ours for what is made, where that needs one on its host.
            force: whether it overwrites what is there.
        """
        extended, rest = _split_extended(options)
        merged = ",".join(filter(None, (self.extended, *extended)))
        return (
            self.tool.command,
            *self.flags,
            *(self.force if force else ()),
            *(("-E", merged) if merged else ()),
            *rest,
            *self.driver.made_on(device, called),
        )


def _split_extended(options: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The values of ``-E``, and all other options."""
    extended: list[str] = []
    rest: list[str] = []
    words = iter(options)
    for word in words:
        if word == "-E":
            extended.append(next(words, ""))
        else:
            rest.append(word)
    return extended, rest
