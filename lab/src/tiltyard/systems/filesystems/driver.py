"""Who turns a formatted device into a directory: a driver of the kernel, a server, a pool."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiltyard.host.op import Mount
from tiltyard.host.packages import Tool, load_command
from tiltyard.host.place import Place
from tiltyard.host.steps import Step
from tiltyard.systems.kind import Problem
from tiltyard.systems.mount.mounter import Mounter


@dataclass(frozen=True)
class Mounting:
    """One mount that is to be made."""

    mounter: Mounter
    device: str
    """A block device, or an image file where the driver takes one."""
    target: Path
    options: tuple[str, ...]
    behind: Path | None
    """The image behind the loop device, if it is on one."""
    called: str
    """Name of ours for what mkfs has made, where that needs one on its host."""
    is_made: bool
    """Whether mkfs has just made it."""


class Driver(ABC):
    """Mounts a file system that has been made."""

    tools: tuple[Tool, ...] = ()
    """What it needs beside mkfs and mount(8)."""
    holds_made: bool = False
    """Whether what mkfs has made is in use at once, so that nobody else may write to its device."""
    takes_files: bool = False
    """Whether it works on an image file as well, without a loop device."""
    shows_options: bool = True
    """Whether the table of mounts is where its options are seen."""
    synonyms: Mapping[str, str] = {}
    """Mount option → the same as the kernel shows it; an empty word if it shows nothing."""
    remarks: Mapping[str, str] = {}
    """Facts that a reader of its results must know."""

    @abstractmethod
    def types(self, name: str) -> tuple[str, ...]:
        """The types under which the table of mounts may show a file system of this name."""

    @abstractmethod
    def problems(self, name: str, place: Place) -> list[Problem]:
        """What a host lacks to mount it; changes nothing."""

    def made_on(self, device: str, called: str) -> tuple[str, ...]:  # noqa: ARG002
        """How mkfs gets the place; ``called``: see :attr:`Mounting.called`."""
        return (device,)

    def prepare(self, mounting: Mounting) -> Iterable[Step]:  # noqa: ARG002
        """What mkfs needs to be there already; nothing by default."""
        return ()

    @abstractmethod
    def mount(self, name: str, mounting: Mounting) -> Iterable[Step]:
        """Mount it; its change is the last one."""

    def require_set(self, mounting: Mounting, place: Place) -> None:  # noqa: B027
        """Make sure that it is as its options say, where the table of mounts does not show them.

        Raises:
            TiltyardError: if not. Nothing is asked by default.
        """

    def renew(self, name: str, mounting: Mounting) -> Iterable[Step]:  # noqa: ARG002  as it was
        """Unmount and mount again, so that nothing is cached."""
        return mounting.mounter.renew()


@dataclass(frozen=True)
class KernelDriver(Driver):
    """mount(8) and a driver of the file system's own name."""

    synonyms: Mapping[str, str] = field(default_factory=dict)

    def types(self, name: str) -> tuple[str, ...]:
        """Its own name."""
        return (name,)

    def problems(self, name: str, place: Place) -> list[Problem]:
        """The kernel may not have it."""
        if place.knows_filesystem(name):
            return []
        remedy = f'{load_command(place, name)}; or kind = "vm" with a kernel that has it'
        return [Problem("error", f"this kernel has no driver for {name}", remedy)]

    def mount(self, name: str, mounting: Mounting) -> Iterable[Step]:
        """The kernel mounts it, asked by a command that ends."""
        mount = Mount(
            type=name,
            source=mounting.device,
            target=mounting.target,
            options=mounting.options,
            behind=mounting.behind,
        )
        return (mounting.mounter.mount(mount),)
