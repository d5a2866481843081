"""Kind ``vm``: a kernel of its own under each system, in a virtual machine.

One boot a turn. This host lays out the image and makes the file system on it; the guest, which is
a kernel and the engine as its only program, or a whole operating system from a disk image, mounts
it and executes the trials.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tiltyard.systems.kind import Kind, Site, System
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.systems.vm.settings import IN_MEMORY, VmSettings


def _open(name: str, settings: VmSettings, site: Site) -> System:
    """Loads what a machine takes; that such a kind is there is known without."""
    from tiltyard.systems.vm.machine import VirtualMachine

    return VirtualMachine(name, settings, site)


def _brings(settings: VmSettings, root: Path) -> Iterable[Brought]:
    from tiltyard.systems.vm.choice import brings

    return brings(settings, root)


KIND: Final = Kind(
    name="vm",
    about="a kernel, or a whole operating system, in a virtual machine; one boot a turn",
    Settings=VmSettings,
    target="directory",
    open=_open,
    elsewhere=True,
    in_guest=True,
    clock=lambda settings: settings.clock,
    brings=_brings,
    programs=lambda settings: (
        "" if settings.disk else "its guest is a kernel and the engine, without any program"
    ),
    redraws=lambda settings: (
        "a boot" if settings.filesystem == IN_MEMORY else "a boot and a format"
    ),
)
