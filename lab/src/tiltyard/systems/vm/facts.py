"""What a guest's kernel says of itself and of what it has mounted."""

import re
from pathlib import Path

from tiltyard.host.facts import ABSENT
from tiltyard.host.mounts import parse_mount
from tiltyard.systems.vm.backends import Machine
from tiltyard.systems.vm.guest import Guest
from tiltyard.units import count_of, format_size

_RELEASE = "/proc/sys/kernel/osrelease"
_BUILD = "/proc/sys/kernel/version"
_COMMAND_LINE = "/proc/cmdline"
_MEMORY = "/proc/meminfo"
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_MODULES = "/proc/modules"
_OS = "/etc/os-release"
_FIRST = "/proc/1/comm"
_SERVICES = "/sys/fs/cgroup/system.slice/cgroup.stat"
_MOUNTS = "/proc/self/mountinfo"


def mount_facts(guest: Guest, directory: str, mounted: dict[str, str]) -> dict[str, str]:
    """The file system as the guest's kernel has it.

    Args:
        guest: it is up.
        directory: where it is mounted.
        mounted: what the guest said when it had mounted it.
    """
    table = [parse_mount(line) for line in guest.read(_MOUNTS)[_MOUNTS].splitlines()]
    mount = next(entry for entry in reversed(table) if entry.target == Path(directory))
    return {
        "file system": mount.type,
        "mount options": mount.options,
        "block size": format_size(int(mounted["block_bytes"])),
        "size": format_size(int(mounted["size_bytes"])),
        "free": format_size(int(mounted["free_bytes"])),
    }


def system_facts(guest: Guest) -> dict[str, str]:
    """The operating system of a disk image, in its own words."""
    said = guest.read(_OS, _FIRST, _SERVICES)
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', said.get(_OS, ""), re.MULTILINE)
    groups = re.search(r"^nr_descendants (\d+)", said.get(_SERVICES, ""), re.MULTILINE)
    return {
        "operating system": name[1] if name else ABSENT,
        "first process": said.get(_FIRST, ABSENT),
        "services": f"{count_of(groups[1], 'control group')}, the engine's included"
        if groups
        else ABSENT,
    }


def guest_facts(guest: Guest, machine: Machine) -> dict[str, str]:
    """The guest's kernel, memory and clock."""
    said = guest.read(_RELEASE, _BUILD, _COMMAND_LINE, _MEMORY, _CLOCK, _MODULES)
    memory_kib = said.get(_MEMORY, "").partition("MemTotal:")[2].split()[:1]
    loaded = [line.split()[0] for line in said.get(_MODULES, "").splitlines()]
    hello = guest.hello
    troubles = {"trouble of the guest": "; ".join(hello.troubles)} if hello.troubles else {}
    return {
        "kernel": f"Linux {said.get(_RELEASE, ABSENT)}, {said.get(_BUILD, ABSENT)}",
        "kernel command line": _own_words(said.get(_COMMAND_LINE, ""), machine),
        "modules loaded": ", ".join(sorted(loaded)) or "none",
        "memory of the guest": format_size(int(memory_kib[0]) * 1024) if memory_kib else ABSENT,
        "CPUs of the guest": str(machine.vcpus),
        "clock of the guest": said.get(_CLOCK, ABSENT),
        "engine of the guest": hello.engine,
        **troubles,
    }


def _own_words(command_line: str, machine: Machine) -> str:
    """The command line without words that name what is of this boot alone: files, descriptors."""
    files = (machine.directory, machine.image, machine.initramfs)
    names = ["=fd:", *(str(file) for file in files if file is not None)]
    return " ".join(
        word for word in command_line.split() if not any(name in word for name in names)
    )
