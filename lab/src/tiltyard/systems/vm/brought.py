"""What a study brings to boot. User-Mode Linux is a program of this host, its words are options."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.systems import brought
from tiltyard.systems.brought import Brought
from tiltyard.systems.vm.backends.uml import TOOL, UserModeLinux
from tiltyard.systems.vm.kernels import kernel_named
from tiltyard.systems.vm.series import kernel_of_series
from tiltyard.systems.vm.settings import VmSettings

_WORDS: Final = frozenset(
    (
        *("apparmor", "audit", "hugepages", "init_on_alloc", "init_on_free", "loglevel"),
        *("mitigations", "nokaslr", "nosmt", "page_poison", "preempt", "quiet", "selinux"),
        *("slab_nomerge", "transparent_hugepage"),
    )
)
"""Words that mean something inside only. Others of User-Mode Linux open devices and files of this
host (``ubd1=``, ``hostfs=``) and start programs (``con1=xterm``)."""


def brings(settings: VmSettings, root: Path) -> Iterator[Brought]:
    """Kernel, modules or disk image that are not the system's, and what a program is told.

    A series (``"6.12"``) is unpacked by the person who runs the study.
    """
    if settings.disk is not None:
        yield from brought.file("disk", "disk image", root / settings.disk.expanduser(), root)
        return
    assert settings.kernel is not None
    yield from brought.paths_among("mkfs", "mkfs", settings.mkfs)
    if settings.modules is not None:
        yield from brought.file("modules", "modules", root / settings.modules.expanduser(), root)
    if kernel_of_series(settings.kernel) is not None:
        return
    kernel = kernel_named(settings.kernel, root)
    if kernel is None or not kernel.is_file():
        return
    if not UserModeLinux().boots(kernel):
        yield from brought.file("kernel", "kernel", kernel, root)
        return
    if kernel.name != TOOL.command or not brought.of_the_system(kernel, root):
        yield Brought("kernel", f"program {kernel}", kernel)
    for word in settings.cmdline:
        if word.partition("=")[0] not in _WORDS:
            yield Brought("cmdline", f"option {brought.quoted(word)} of User-Mode Linux")
