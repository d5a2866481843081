"""What a study's words come to on this host: the kernel's file, its modules, and a backend."""

from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import HostLacksError
from tiltyard.systems.kind import Problem
from tiltyard.systems.vm.backends import BACKENDS, Backend
from tiltyard.systems.vm.kernels import kernel_named
from tiltyard.systems.vm.modules import Modules, directory_of
from tiltyard.systems.vm.settings import IN_MEMORY, VmSettings

_ASKED_FOR = {"vfat": ("nls_cp437", "nls_ascii", "nls_iso8859-1")}
"""What drivers ask for by name when they mount: there is no modprobe(8) in a guest."""


@dataclass(frozen=True)
class Choice:
    """How a machine will be made."""

    kernel: Path
    backend: Backend
    modules: Modules | None
    """``None``: none are there, and everything must be built in."""


def choose(settings: VmSettings, root: Path) -> Choice:
    """The choice.

    Args:
        settings: of the system.
        root: what relative paths begin at.

    Raises:
        HostLacksError: if there is no such kernel, or nothing that boots it here.
    """
    kernel = kernel_named(settings.kernel, root)
    if kernel is None:
        raise HostLacksError(f'there is no kernel "{settings.kernel}"')
    backend = _backend(settings, kernel)
    directory = directory_of(kernel, backend.release(kernel))
    if settings.modules is not None:
        directory = root / settings.modules.expanduser()
    return Choice(kernel, backend, Modules(directory) if directory else None)


def needed_modules(settings: VmSettings, choice: Choice) -> list[Path]:
    """Files of the modules that the guest must load, in order."""
    if choice.modules is None:
        return []
    name = settings.filesystem
    driver = () if name == IN_MEMORY else (f"fs-{name}", *_ASKED_FOR.get(name, ()))
    return choice.modules.in_order((*choice.backend.modules, *driver, *settings.load))


def missing_modules(settings: VmSettings, choice: Choice) -> list[Problem]:
    """What the kernel does not have, as far as its tables tell."""
    modules = choice.modules
    if modules is None:
        return []
    found = []
    filesystem = settings.filesystem
    if filesystem != IN_MEMORY and modules.find(f"fs-{filesystem}") is None:
        text = f"{choice.kernel} has no driver for {filesystem}"
        found.append(Problem("error", text, "a kernel that has one"))
    for name in settings.load:
        if modules.find(name) is None:
            text = f'load: {choice.kernel} has no module "{name}"'
            found.append(Problem("error", text, "modinfo tells the names that there are"))
    return found


def _backend(settings: VmSettings, kernel: Path) -> Backend:
    """The one that is named, or the first that can do it.

    Raises:
        HostLacksError: if there is none; the message says why.
    """
    named = [entry for entry in BACKENDS if settings.backend in ("auto", entry.name)]
    fitting = [entry for entry in named if entry.boots(kernel)]
    if not fitting:
        boot = ", ".join(entry.about for entry in named) or settings.backend
        raise HostLacksError(f"{kernel} is no kernel that can be booted here ({boot})")
    for entry in fitting:
        if not any(p.severity == "error" for p in entry.problems(settings.clock, settings.vcpus)):
            return entry
    return fitting[0]
