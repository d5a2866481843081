"""File systems that a driver of the kernel mounts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiltyard.host.packages import knows_filesystem, load_command
from tiltyard.host.steps import Step
from tiltyard.systems.filesystems.driver import Driver, Mounting
from tiltyard.systems.kind import Problem


@dataclass(frozen=True)
class KernelDriver(Driver):
    """mount(8) and a driver of the file system's own name."""

    synonyms: Mapping[str, str] = field(default_factory=dict)

    def types(self, name: str) -> tuple[str, ...]:
        """Its own name."""
        return (name,)

    def problems(self, name: str) -> list[Problem]:
        """The kernel may not have it."""
        if knows_filesystem(name):
            return []
        remedy = f'{load_command(name)}; or kind = "vm" with a kernel that has it'
        return [Problem("error", f"this kernel has no driver for {name}", remedy)]

    def mount(self, name: str, mounting: Mounting) -> Iterable[Step]:
        """The kernel mounts it, asked by a command that ends."""
        options = ("-o", ",".join(mounting.options)) if mounting.options else ()
        argv = ("mount", "-t", name, *options, mounting.device, str(mounting.target))
        return (mounting.mounter.mount(argv, mounting.target, mounting.change),)
