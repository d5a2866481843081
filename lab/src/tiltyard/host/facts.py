"""The system record of the host: what a reader must know to judge a result.

Only files are read that do nothing when they are read (some in ``/sys`` do). What a host does not
tell is said to be "not available" rather than left out.
"""

import os
import platform
from pathlib import Path

from tiltyard.host import loops
from tiltyard.host.disks import disk_of
from tiltyard.host.mounts import mount_of
from tiltyard.units import format_size

ABSENT = "not available"
NONE_SEEN = "none seen"
"""Of virtualisation."""

_CPU = Path("/sys/devices/system/cpu")
_DISTRIBUTION = Path("/etc/os-release")
_HYPERVISOR = Path("/sys/hypervisor/type")


def host_facts(work: Path) -> dict[str, str]:
    """The record, in names that a reader knows.

    Args:
        work: a directory on the disk that will be worked on.
    """
    return {
        "CPU": _cpu_model(),
        "CPUs": str(os.cpu_count() or ABSENT),
        "memory": _memory("MemTotal"),
        "memory available at start": _memory("MemAvailable"),
        "swap": _memory("SwapTotal"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "distribution": _distribution(),
        "virtualisation": virtualisation(),
        "clock source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "CPU frequency governor": _read(_CPU / "cpu0/cpufreq/scaling_governor"),
        "CPU idle driver": _read(_CPU / "cpuidle/current_driver"),
        "transparent huge pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "mitigations": _mitigations(),
        **_disk(work),
    }


def virtualisation() -> str:
    """Whether a hypervisor is below us, and which, as far as it tells."""
    if "hypervisor" not in _cpuinfo("flags").split():
        return NONE_SEEN
    names = (_read(_HYPERVISOR), _read("/sys/class/dmi/id/sys_vendor"))
    named = next((name for name in names if name != ABSENT), None)
    return f"virtual machine ({named})" if named else "virtual machine"


def _disk(work: Path) -> dict[str, str]:
    """The file system under a directory, and the disk under that."""
    mount = mount_of(work)
    facts = {
        "work directory on": f"{mount.type} on {mount.source}",
        "its mount options": mount.options,
    }
    disk = disk_of(mount.source)
    if disk is None:
        return {**facts, "disk": ABSENT}
    sectors = int(_read(disk / "size"))
    model = _read(disk / "device/model")
    scheduler = disk / "queue/scheduler"
    return {
        **facts,
        "disk": f"{disk.name}, {format_size(sectors * 512)}, model {model}",
        "disk scheduler": loops.chosen(scheduler) if scheduler.exists() else ABSENT,
        "disk write cache": _read(disk / "queue/write_cache"),
    }


def _cpu_model() -> str:
    """The processor by name; some architectures have none in ``/proc/cpuinfo``."""
    return _cpuinfo("model name") or _cpuinfo("Model") or platform.machine()


def _cpuinfo(field: str) -> str:
    """First value of a field of ``/proc/cpuinfo``; empty if there is none."""
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""


def _memory(field: str) -> str:
    """A line of ``/proc/meminfo``."""
    for line in _read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return format_size(int(value.split()[0]) * 1024)
    return ABSENT


def _distribution() -> str:
    """The distribution's own name for itself."""
    for line in _read(_DISTRIBUTION).splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return ABSENT


def _mitigations() -> str:
    """Vulnerabilities that cost time here, each with its mitigation, shortly."""
    directory = _CPU / "vulnerabilities"
    states = {entry.name: _read(entry) for entry in sorted(directory.glob("*"))}
    active = [
        f"{name}: {state.removeprefix('Mitigation: ').partition(';')[0]}"
        for name, state in states.items()
        if state != "Not affected"
    ]
    return ", ".join(active) if active else ABSENT if not states else "none needed"


def _chosen(path: str) -> str:
    """The word in brackets."""
    return loops.chosen(Path(path)) if Path(path).exists() else ABSENT


def _read(path: str | Path) -> str:
    """A small file, or that it is not available."""
    try:
        return Path(path).read_text(errors="replace").strip() or ABSENT
    except OSError:
        return ABSENT
