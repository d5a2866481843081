"""Programs that virtual machines take of their host; nothing else of a machine is loaded."""

from typing import Final

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems import FILESYSTEMS

UML: Final = Tool(
    "linux.uml",
    "user-mode-linux",
    ("--version",),
    "no guests that are ordinary processes (kind vm)",
)
FORM: Final = "ext4"
"""Of the engine's disk: whatever boots from a disk has a driver for it."""
_WITHOUT: Final = "no disk image can be booted (kind vm)"
OF_IMAGES: Final = (
    Tool("qemu-img", "qemu-utils", ("--version",), _WITHOUT),
    Tool("debugfs", "e2fsprogs", ("-V",), _WITHOUT),
    FILESYSTEMS.named(FORM).tool,
    Tool("sfdisk", "fdisk", ("--version",), _WITHOUT),
)
