"""File systems that a server in user space mounts (FUSE).

The server runs in the foreground as a process of ours: what it needs of the processor belongs to
the system under test, what it says when it fails is the reason, and its end is the end of the
mount. It reads the device through the device's own page cache, whatever flags a file was opened
with: direct I/O ends at the server.

Source: fuse(4), mount.fuse(8).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tiltyard.host.packages import (
    Tool,
    install_command,
    load_command,
)
from tiltyard.host.place import Place
from tiltyard.host.steps import Step
from tiltyard.systems.filesystems.driver import Driver, Mounting
from tiltyard.systems.kind import Problem

ENDS_AT_SERVER: Final = {"direct I/O": "ends at the server, which works through the page cache"}
"""What becomes of O_DIRECT."""
_DEVICE: Final = "/dev/fuse"


@dataclass(frozen=True)
class ServerDriver(Driver):
    """A program that mounts and serves, with the words that keep it in the foreground."""

    tool: Tool
    foreground: tuple[str, ...]
    """Words that keep it in the foreground."""
    shown_as: tuple[str, ...]
    """Types in the table of mounts."""
    options: tuple[str, ...] = ()
    """Mount options that it always gets."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=lambda: {**ENDS_AT_SERVER})
    takes_files: bool = True

    @property
    def tools(self) -> tuple[Tool, ...]:  # type: ignore[override]  # read only
        """The server."""
        return (self.tool,)

    def types(self, name: str) -> tuple[str, ...]:  # noqa: ARG002  they are the server's
        """As the server names itself."""
        return self.shown_as

    def problems(self, name: str, place: Place) -> list[Problem]:  # noqa: ARG002
        """The server, and the kernel's half of FUSE."""
        return server_problems(self.tool, place)

    def mount(self, name: str, mounting: Mounting) -> Iterable[Step]:  # noqa: ARG002
        """By the server, which stays."""
        words = ",".join((*self.options, *mounting.options))
        options = ("-o", words) if words else ()
        command = (self.tool.command, *self.foreground, *options)
        argv = (*command, mounting.device, str(mounting.target))
        return (mounting.mounter.serve(argv, mounting.target),)


def server_problems(tool: Tool, place: Place) -> list[Problem]:
    """What a host lacks for a file system in user space."""
    found = []
    if not place.has(tool.command):
        text = f"{tool.command} is not installed"
        found.append(Problem("error", text, install_command(place, tool.package)))
    if not (place.find_all([_DEVICE]) and place.knows_filesystem("fuse")):
        found.append(Problem("error", "this kernel has no FUSE", load_command(place, "fuse")))
    return found
