"""User-Mode Linux: a kernel that is an ordinary process. Needs neither root nor a device.

The guest's programs compute at full speed; each of their system calls is caught by ptrace(2) and
costs some 15 us. All of the machine must be on one CPU: between two it takes four times as long.
The disk is a file of this host, read and written through this host's page cache.
(https://docs.kernel.org/virt/uml/user_mode_linux_howto_v2.html)
"""

from pathlib import Path
from typing import Literal

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.host import commands
from tiltyard.host.packages import Tool
from tiltyard.systems.kind import Problem
from tiltyard.systems.vm.backends.backend import Backend, Machine

TOOL = Tool(
    "linux.uml",
    "user-mode-linux",
    ("--version",),
    "no guests that are ordinary processes (kind vm)",
)
_ELF = b"\x7fELF"
_ANSWER_S = 60.0


class UserModeLinux(Backend):
    """Debian's ``user-mode-linux``, or any other."""

    name = "uml"
    about = "User-Mode Linux"
    channel_device = "/dev/ttyS0"
    image_device = "/dev/ubda"
    modules = ()
    boot_limit_s = 60.0

    def boots(self, kernel: Path) -> bool:
        """A program of this host."""
        with kernel.open("rb") as file:
            return file.read(len(_ELF)) == _ELF

    def release(self, kernel: Path) -> str | None:
        """It tells itself."""
        try:
            return commands.run((str(kernel), "--version"), timeout_s=_ANSWER_S).stdout or None
        except TiltyardError:
            return None

    def problems(self, clock: Literal["time", "instructions"], vcpus: int) -> list[Problem]:
        """It has one CPU, and no clock but time."""
        found = []
        if clock != "time":
            text = "User-Mode Linux cannot count instructions"
            found.append(Problem("error", text, 'backend = "qemu"'))
        if vcpus != 1:
            text = f"User-Mode Linux has one CPU, and {vcpus} are wanted"
            found.append(Problem("error", text, "vcpus = 1"))
        return found

    def command(self, machine: Machine, into: int, out_of: int) -> tuple[str, ...]:
        """Kernel messages go to standard output, the channel is the first serial line."""
        disk = (f"ubd0={machine.image}",) if machine.image else ()
        return (
            str(Engine.find().path),
            "uml",
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
