"""External programs: is one here, and which one command installs it?"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_KNOWN = Path("/proc/filesystems")
_MODULES = Path("/lib/modules")


def knows_filesystem(name: str) -> bool:
    """Whether a driver is there, or is a module that the kernel loads when it is needed.

    Source: proc(5); modules.dep(5).
    """
    try:
        modules = (_MODULES / os.uname().release / "modules.dep").read_text()
    except OSError:
        modules = ""
    return is_known(name, _KNOWN.read_text(), modules)


def is_known(name: str, known: str, modules: str) -> bool:
    """The same of what ``/proc/filesystems`` and ``modules.dep`` say."""
    if name in known.split():
        return True
    files = (line.partition(":")[0] for line in modules.splitlines())
    return any(Path(file).name.partition(".ko")[0].replace("_", "-") == name for file in files)


_INSTALL = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "pacman": "pacman -S --noconfirm",
}
_ADMIN_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Tool:
    """A program that is started by name, and the package that holds it.

    The distributions that Tiltyard names agree on the packages it needs (``xfsprogs`` …).
    """

    command: str
    package: str
    version: tuple[str, ...]
    """Options that make it print its version."""
    without: str = "this file system cannot be made"
    """What follows if it is missing."""


def find_program(command: str) -> str | None:
    """Path of a program, also where administration tools live but ``PATH`` does not look."""
    return shutil.which(command) or shutil.which(command, path=_ADMIN_DIRECTORIES)


def install_command(*packages: str, has: Callable[[str], object] | None = None) -> str:
    """The one command that installs packages with the package manager that is there.

    Args:
        packages: by their names.
        has: whether a host has a program; this one, if it is left out.
    """
    names = " ".join(dict.fromkeys(packages))
    manager = next((name for name in _INSTALL if (has or shutil.which)(name)), None)
    return f"{_INSTALL[manager]} {names}" if manager else f"install the package {names}"


def load_command(module: str) -> str:
    """What brings a part of the kernel that is not there: a module, if this kernel has modules."""
    if Path("/lib/modules", os.uname().release).is_dir():
        return f"modprobe {module}"
    return f"a kernel with {module}: this one has no modules"
