"""User-Mode Linux: a kernel that is an ordinary process. Needs neither root nor a device.

The guest's programs compute at full speed; each of their system calls is caught by ptrace(2) and
costs some 15 us. All of the machine must be on one CPU: between two it takes four times as long.
The disk is a file of this host, read and written through this host's page cache.

On a CPU with AMX a kernel before 6.13 needs a ``ptrace`` in front of the C library's, or each guest
dies with its first program: ``ptrace.c`` beside this file, compiled there and loaded in front.
(https://docs.kernel.org/virt/uml/user_mode_linux_howto_v2.html)
"""

import mmap
import re
from pathlib import Path
from typing import Final, Literal

from tiltyard.elf import has_section
from tiltyard.host import commands
from tiltyard.host.packages import Tool, find_program, install_command
from tiltyard.systems.kind import Problem
from tiltyard.systems.vm.backends.backend import Backend, Machine

TOOL = Tool(
    "linux.uml",
    "user-mode-linux",
    ("--version",),
    "no guests that are ordinary processes (kind vm)",
)
_MARK: Final = ".uml.setup.init"
"""The section with its own options, which each such kernel has and no other program
(arch/um/include/shared/init.h)."""
_BANNER: Final = re.compile(rb"Linux version (\S{1,64}) \(")
"""``linux_banner`` (init/version.c)."""
_PTRACE: Final = Path(__file__).with_name("ptrace.c")
_KNOWS_AMX: Final = (6, 13)


class UserModeLinux(Backend):
    """Debian's ``user-mode-linux``, or any other."""

    name = "uml"
    about = "User-Mode Linux"
    channel_device = "/dev/ttyS0"
    image_device = "/dev/ubda"
    modules = ()
    boot_limit_s = 60.0

    def boots(self, kernel: Path) -> bool:
        """A program with the mark of such a kernel; any other one would be executed as one."""
        return has_section(kernel, _MARK)

    def release(self, kernel: Path) -> str | None:
        """Its banner, which is read: nothing is executed to learn it."""
        with kernel.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as text:
            found = _BANNER.search(text)
            return found[1].decode("ascii", "replace") if found else None

    def problems(self, clock: Literal["time", "instructions"], vcpus: int) -> list[Problem]:
        """It has one CPU, and no clock but time."""
        found = []
        if clock != "time":
            text = "User-Mode Linux cannot count instructions"
            found.append(Problem("error", text, 'backend = "qemu"'))
        if vcpus != 1:
            text = f"User-Mode Linux has one CPU, and {vcpus} are wanted"
            found.append(Problem("error", text, "vcpus = 1"))
        if has_amx() and find_program("cc") is None:
            text = "User-Mode Linux before 6.13 dies on this CPU (AMX) without a library of ours"
            found.append(Problem("warning", f"{text}: no cc here", install_command("gcc")))
        return found

    def command(self, machine: Machine, into: int, out_of: int) -> tuple[str, ...]:
        """Kernel messages go to standard output, the channel is the first serial line."""
        disk = (f"ubd0={machine.image}",) if machine.image else ()
        preload: tuple[str, ...] = ()
        if has_amx() and not self._knows_amx(machine.kernel):
            preload = ("env", f"LD_PRELOAD={compile_ptrace(machine.directory)}")
        return (
            *preload,
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

    def _knows_amx(self, kernel: Path) -> bool:
        """Whether its release is one that keeps all of a CPU's vector state."""
        match = re.match(r"(\d+)\.(\d+)", self.release(kernel) or "")
        return match is not None and (int(match[1]), int(match[2])) >= _KNOWS_AMX

    def facts(self, machine: Machine) -> dict[str, str]:
        """What lies between the guest and the disk."""
        if machine.image is None:
            return {}
        return {"disk of the guest": "ubd over a file, through the host's page cache"}


def has_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this host's CPU has the state that older kernels do not know."""
    return " amx_tile" in cpuinfo.read_text()


def compile_ptrace(directory: Path) -> Path:
    """Compile the library; it is removed with the directory.

    Raises:
        HostLacksError: if there is no C compiler.
    """
    library = directory / "ptrace.so"
    commands.run(("cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_PTRACE)))
    return library
