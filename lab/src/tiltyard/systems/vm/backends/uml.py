"""User-Mode Linux: a kernel that is an ordinary process. Needs neither root nor a device.

The guest's programs compute at full speed; each of their system calls is caught by ptrace(2) and
costs some 15 us. All of the machine must be on one CPU: between two it takes four times as long.
The disk is a file of this host, read and written through this host's page cache.

On a CPU with AMX a kernel before 6.13 needs a ``ptrace`` in front of the C library's, or each guest
dies with its first program: ``ptrace.c`` beside this file, compiled there and loaded in front.
(https://docs.kernel.org/virt/uml/user_mode_linux_howto_v2.html)
"""

import re
from pathlib import Path
from typing import Final, Literal

from tiltyard.host.packages import install_command
from tiltyard.host.place import HERE, Place
from tiltyard.systems.kind import Problem
from tiltyard.systems.vm.backends.backend import Backend, Machine

_PTRACE: Final = Path(__file__).with_name("ptrace.c")
_COMPILE: Final = """printf %s "$1" | cc -shared -fPIC -O2 -o "$2" -x c -"""
_CPUS: Final = "/proc/cpuinfo"
_KNOWS_AMX: Final = (6, 13)


class UserModeLinux(Backend):
    """Debian's ``user-mode-linux``, or any other."""

    name = "uml"
    about = "User-Mode Linux"
    channel_device = "/dev/ttyS0"
    image_device = "/dev/ubda"
    modules = ()
    boots = frozenset({"uml"})
    boot_limit_s = 60.0

    def problems(
        self, clock: Literal["time", "instructions"], vcpus: int, place: Place = HERE
    ) -> list[Problem]:
        """It has one CPU, and no clock but time."""
        found = []
        if clock != "time":
            text = "User-Mode Linux cannot count instructions"
            found.append(Problem("error", text, 'backend = "qemu"'))
        if vcpus != 1:
            text = f"User-Mode Linux has one CPU, and {vcpus} are wanted"
            found.append(Problem("error", text, "vcpus = 1"))
        if has_amx(place.read(_CPUS) or "") and not place.has("cc"):
            text = "User-Mode Linux before 6.13 dies on this CPU (AMX) without a library of ours"
            remedy = install_command(place, "gcc")
            found.append(Problem("warning", f"{text}: no cc here", remedy))
        return found

    def before(self, release: str | None, directory: Path, place: Place) -> tuple[str, ...]:
        """The missing state is restored by a library."""
        if _knows_amx(release) or not has_amx(place.read(_CPUS) or ""):
            return ()
        return ("env", f"LD_PRELOAD={compile_ptrace(directory, place)}")

    def command(self, machine: Machine, into: int, out_of: int) -> tuple[str, ...]:
        """Kernel messages go to standard output, the channel is the first serial line."""
        disk = (f"ubd0={machine.image}",) if machine.image else ()
        return (
            str(machine.kernel),
            f"mem={machine.memory_bytes}",
            f"initrd={machine.initramfs}",
            f"uml_dir={machine.directory}",
            "umid=machine",
            "con0=null,fd:1",
            "con=null",
            f"ssl0=fd:{into},fd:{out_of}",
            "ssl=null",
            *disk,
            *machine.command_line,
        )

    def facts(self, machine: Machine) -> dict[str, str]:
        """What lies between the guest and the disk."""
        if machine.image is None:
            return {}
        return {"disk of the guest": "ubd over a file, through the host's page cache"}


def has_amx(cpuinfo: str) -> bool:
    """Whether a CPU has the state that older kernels do not know, as its host tells of it."""
    return " amx_tile" in cpuinfo


def _knows_amx(release: str | None) -> bool:
    """Whether it is one that keeps all of a CPU's vector state."""
    match = re.match(r"(\d+)\.(\d+)", release or "")
    return match is not None and (int(match[1]), int(match[2])) >= _KNOWS_AMX


def compile_ptrace(directory: Path, place: Place) -> Path:
    """Compile the library; it is removed with the directory.

    Raises:
        HostLacksError: if there is no C compiler.
    """
    library = directory / "ptrace.so"
    place.run(("sh", "-c", _COMPILE, "sh", _PTRACE.read_text(), str(library)))
    return library
