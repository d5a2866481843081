"""What a study's words come to on this host: the file that boots, its modules, and a backend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.errors import HostLacksError
from tiltyard.folder import HASHED, sha256
from tiltyard.host.place import Place
from tiltyard.ownership import expanded
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.systems.vm.backends import BACKENDS, Backend
from tiltyard.systems.vm.kernels import (
    Wanted,
    beside,
    is_file,
    kernel_named,
    kernel_of_series,
    look_at,
    sums,
    wanted_of,
)
from tiltyard.systems.vm.settings import IN_MEMORY, VmSettings
from tiltyard.systems.vm.tools import UML

_WORDS: Final = frozenset(
    (
        *("apparmor", "audit", "hugepages", "init_on_alloc", "init_on_free", "loglevel"),
        *("mitigations", "nokaslr", "nosmt", "page_poison", "preempt", "quiet", "selinux"),
        *("slab_nomerge", "transparent_hugepage"),
    )
)
"""Words that mean something inside only. Others of User-Mode Linux open devices and files of this
host (``ubd1=``, ``hostfs=``) and start programs (``con1=xterm``)."""


_IMAGE: Final = "vmlinuz"
"""Names of kernels that are no programs begin so in the system's directories."""


def brings(settings: VmSettings, root: Path) -> Iterator[Brought]:
    """Kernel, modules or disk image that are not the system's, and what a program is told.

    A series (``"6.12"``) is unpacked by the person who runs the study.
    """
    if settings.host:
        yield from _brings_there(settings, settings.host)
        return
    if settings.disk is not None:
        yield from untrusted_inputs.file("disk", "disk image", root / expanded(settings.disk), root)
        return
    assert settings.kernel is not None
    yield from untrusted_inputs.paths_among("mkfs", "mkfs", settings.mkfs)
    if settings.modules is not None:
        yield from untrusted_inputs.file(
            "modules", "modules", root / expanded(settings.modules), root
        )
    if kernel_of_series(settings.kernel) is not None:
        return
    kernel = kernel_named(settings.kernel, beside(root))
    if kernel is None:
        return
    if look_at(kernel).boots_as != "uml":
        yield from untrusted_inputs.file("kernel", "kernel", kernel, root)
        return
    if kernel.name != UML.command or not untrusted_inputs.of_the_system(kernel, root):
        yield Brought("kernel", f"program {kernel}", kernel)
    yield from _words(settings.cmdline)


def _brings_there(settings: VmSettings, host: str) -> Iterator[Brought]:
    """The same of another host, whose files nobody has looked at: what is no image may start."""
    yield from untrusted_inputs.paths_among("mkfs", "mkfs", settings.mkfs)
    for key, what, path in (
        ("disk", "disk image", settings.disk),
        ("modules", "modules", settings.modules),
    ):
        if path is not None:
            yield from untrusted_inputs.file_there(key, what, path, host)
    if settings.kernel is None or kernel_of_series(settings.kernel) is not None:
        return
    kernel = Path(settings.kernel)
    is_path = "/" in settings.kernel
    named = list(untrusted_inputs.file_there("kernel", "kernel", kernel, host)) if is_path else []
    yield from named
    if settings.backend in ("kvm", "qemu") or kernel.name.startswith(_IMAGE):
        return
    if kernel.name != UML.command and not named:
        yield Brought("kernel", f"program {kernel} on {host}")
    yield from _words(settings.cmdline)


def _words(cmdline: Sequence[str]) -> Iterator[Brought]:
    for word in cmdline:
        if word.partition("=")[0] not in _WORDS:
            yield Brought("cmdline", f"option {untrusted_inputs.quoted(word)} of User-Mode Linux")


_ASKED_FOR = {"vfat": ("nls_cp437", "nls_ascii", "nls_iso8859-1")}
"""What drivers ask for by name when they mount: there is no modprobe(8) in a guest."""


@dataclass(frozen=True)
class Choice:
    """How a machine will be made."""

    boots: Path
    """The kernel's file, or the disk image."""
    backend: Backend
    release: str | None = None
    """Of the kernel, where its file says it."""
    modules: Path | None = None
    """Their directory; ``None``: none are there, and everything must be built in; or they are in
    the disk image."""


def choose(settings: VmSettings, site: Site) -> Choice:
    """The choice.

    Args:
        settings: of the system.
        site: where it is, and what relative paths begin at.

    Raises:
        HostLacksError: if there is no such file, or nothing that boots it here.
    """
    place = site.place
    if settings.disk is not None:
        disk = site.given(settings.disk)
        if not is_file(disk, place):
            raise HostLacksError(f'there is no disk image "{settings.disk}"')
        real = Path(place.find_all([str(disk)]).get(str(disk), disk))
        return Choice(real, _backend(settings, disk, "disk", place))
    assert settings.kernel is not None
    kernel = kernel_named(settings.kernel, site.given, place)
    if kernel is None:
        raise HostLacksError(f'there is no kernel "{settings.kernel}"')
    found = look_at(kernel, place)
    backend = _backend(settings, kernel, found.boots_as, place)
    modules = found.modules if settings.modules is None else site.given(settings.modules)
    return Choice(kernel, backend, found.release, modules)


def wanted(settings: VmSettings, choice: Choice, place: Place) -> Wanted:
    """What the guest must load, and what of that the kernel does not have."""
    if choice.modules is None:
        return Wanted()
    name = settings.filesystem
    driver = () if name == IN_MEMORY else (f"fs-{name}", *_ASKED_FOR.get(name, ()))
    names = (*choice.backend.modules, *driver, *settings.load)
    return wanted_of(choice.modules, names, place)


def files_of(settings: VmSettings, choice: Choice, found: Wanted, place: Place) -> dict[str, str]:
    """Facts: what a machine is made of, with hashes; of all the modules it needs, one together."""
    own, *others = sums((choice.boots, *(file.path for file in found.files)), place)
    file = f"{choice.boots}{HASHED}{own}"
    if settings.disk is not None:
        return {"file of the disk": file}
    together = f"{choice.modules}{HASHED}{sha256(''.join(others).encode())}"
    return {"file of the kernel": file, **({"kernel modules": together} if others else {})}


def missing_modules(settings: VmSettings, choice: Choice, place: Place) -> list[Problem]:
    """What the kernel does not have, as far as its tables tell."""
    missing = wanted(settings, choice, place).missing
    problems = []
    filesystem = settings.filesystem
    if f"fs-{filesystem}" in missing:
        text = f"{choice.boots} has no driver for {filesystem}"
        problems.append(Problem("error", text, "a kernel that has one"))
    for name in settings.load:
        if name in missing:
            text = f'load: {choice.boots} has no module "{name}"'
            problems.append(Problem("error", text, "modinfo tells the names that there are"))
    return problems


def _backend(settings: VmSettings, file: Path, boots_as: str | None, place: Place) -> Backend:
    """The one that is named, or the first that can boot the file.

    Raises:
        HostLacksError: if there is none; the message says why.
    """
    named = [entry for entry in BACKENDS if settings.backend in ("auto", entry.name)]
    fitting = [entry for entry in named if boots_as in entry.boots]
    if not fitting:
        boot = ", ".join(entry.about for entry in named) or settings.backend
        raise HostLacksError(f"{file} is no kernel that can be booted here ({boot})")
    for entry in fitting:
        problems = entry.problems(settings.clock, settings.vcpus, place)
        if not any(problem.severity == "error" for problem in problems):
            return entry
    return fitting[0]
