"""What a virtual machine can run on: one file each, and one line in the list of the folder."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tiltyard.host.place import HERE, Place
from tiltyard.systems.kind import Problem


@dataclass(frozen=True)
class SystemDisks:
    """The disks of a guest that has an operating system of its own."""

    system: Path
    """Its root: a qcow2 overlay, thrown away with the turn."""
    engine: Path
    """A small file system with the engine; read only."""


@dataclass(frozen=True)
class Machine:
    """A machine that is to be started."""

    kernel: Path
    command_line: tuple[str, ...]
    """Words for the kernel that a backend adds its own to."""
    initramfs: Path
    memory_bytes: int
    vcpus: int
    image: Path | None
    """Its disk; ``None`` if it needs none."""
    clock: Literal["time", "instructions"]
    directory: Path
    """For whatever the backend makes; removed when the machine has ended."""
    disks: SystemDisks | None = None
    """``None``: the engine is the guest's only program."""

    @property
    def channel(self) -> Path:
        """Of the two pipes (fifo(7)) between lab and guest: ``.in`` into it, ``.out`` of it."""
        return self.directory / "channel"


class Backend(ABC):
    """One way to run a kernel that is not this host's."""

    name: ClassVar[str]
    """As ``backend`` names it."""
    about: ClassVar[str]
    """In a few words, for facts and messages."""
    channel_device: ClassVar[str]
    """The guest's end of the channel, a line or port that is 8 bits clean: ``/dev/hvc0``."""
    image_device: ClassVar[str]
    """The image, as the guest knows it: ``/dev/vda``."""
    modules: ClassVar[tuple[str, ...]]
    """Kernel modules for these devices; those that are built in are passed over."""
    boots: ClassVar[frozenset[str]]
    """What it can boot: sorts of kernels (:attr:`tiltyard.systems.vm.kernels.Kernel.boots_as`), and
    ``disk``, an operating system on a disk image."""
    boot_limit_s: ClassVar[float]
    """A guest that has said nothing after that time will not."""

    @abstractmethod
    def problems(
        self, clock: Literal["time", "instructions"], vcpus: int, place: Place = HERE
    ) -> list[Problem]:
        """What keeps it from being used on a host; changes nothing."""

    def before(
        self,
        release: str | None,  # noqa: ARG002  most need nothing
        directory: Path,  # noqa: ARG002
        place: Place,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Words in front of the command, where a kernel needs something of its host.

        Args:
            release: of the kernel.
            directory: for what is made; removed when the machine has ended.
            place: its host.
        """
        return ()

    @abstractmethod
    def command(self, machine: Machine, into: int, out_of: int) -> tuple[str, ...]:
        """The command that is the machine until it is switched off, and ends with it.

        Its standard output is kept as the console's text: kernel messages belong there.

        Args:
            machine: what to start.
            into: descriptor of the pipe into the guest, open in the process to read and write.
            out_of: descriptor of the pipe out of it. A machine may also open both by name.
        """

    @abstractmethod
    def facts(self, machine: Machine) -> Mapping[str, str]:
        """What a reader must know of it: what lies between the guest and the disk, for example."""
