"""What this host can and cannot do, and the one command that mends each lack.

The doctor knows the host only: which tools the file systems need and which engine there is, those
who know tell it.
"""

import ctypes
import errno
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host import kvm
from tiltyard.host.facts import NONE_SEEN, cpu_quota, virtualisation
from tiltyard.host.namespaces import why_not
from tiltyard.host.packages import Tool, install_command, load_command
from tiltyard.host.place import HERE
from tiltyard.ownership import own_state_directory, state_directory
from tiltyard.units import format_size

_CACHESTAT = 451
"""Number of cachestat(2), Linux 6.5, on every architecture of today."""
_WANTED_BYTES = 5 * 2**30
_FUSE: Final = "/dev/fuse"
_OF_OTHERS: Final = ("find", _FUSE, "-perm", "-0002")
"""Names it where anybody may open it."""
_LOOPS: Final = "/dev/loop-control"
_IDLE_DRIVER: Final = "/sys/devices/system/cpu/cpuidle/current_driver"
_CPU_TIMES: Final = "/proc/stat"
_NOISE_WINDOW_S = 0.5
_NOISY_SHARE = 0.05


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Literal["ok", "limited", "missing"]
    meaning: str
    """What was found, and what follows from it."""
    remedy: str | None = None
    """The one command that mends it."""


class Examined(BaseModel):
    """All that was looked at."""

    model_config = ConfigDict(frozen=True)

    checks: tuple[Check, ...]

    def count(self, status: str) -> int:
        """How many checks have a status."""
        return sum(check.status == status for check in self.checks)


def examine(tools: Iterable[Tool], engine: Callable[[], str], directory: Path) -> list[Check]:
    """Look at everything; changes nothing. It is the engine that looks.

    Args:
        tools: programs that systems under test need.
        engine: returns the engine's version, or raises a :class:`TiltyardError`.
        directory: where studies will be kept.
    """
    found = _engine(engine)
    if found.status == "missing":
        text = "not looked at, as there is no engine to look with"
        return [found, Check("this host", "limited", text), _state()]
    return [
        _root(),
        _namespaces(),
        found,
        _loop_devices(),
        _network_pairs(),
        _kvm(),
        *(_tool(tool) for tool in tools),
        _state(),
        _space(directory),
        _cachestat(),
        _bounded_cache(),
        _cpus(),
        _idle(),
        _noise(),
    ]


def _root() -> Check:
    """Fresh file systems need root."""
    if HERE.is_root:
        return Check("root", "ok", "fresh file systems and pairs of network namespaces can be made")
    return Check(
        "root",
        "limited",
        "directories, loopback and what a user can mount can be compared; root would add fresh "
        "file systems and pairs of network namespaces",
        "sudo tiltyard …",
    )


def _namespaces() -> Check:
    """What users can mount without root; tried in namespaces that are gone again."""
    name = "users' namespaces"
    if refusal := why_not():
        text = f"users cannot mount: {refusal}"
        return Check(name, "limited", text, "sysctl user.max_user_namespaces=10000")
    (others,) = HERE.ask(lambda host: host.read(outputs=[_OF_OTHERS])).outputs
    served = "" if others.stdout else ", but not by FUSE"
    text = f"users can mount tmpfs, overlay and images in namespaces of their own{served}"
    return (
        Check(name, "limited", text, f"chmod a+rw {_FUSE}") if served else Check(name, "ok", text)
    )


def _engine(version: Callable[[], str]) -> Check:
    """The measuring instrument."""
    try:
        return Check("engine", "ok", f"version {version()}")
    except TiltyardError as error:
        meaning, _, fix = str(error).partition(" Fix: ")
        return Check("engine", "missing", meaning, fix or None)


def _loop_devices() -> Check:
    """Images are mounted through them."""
    if HERE.find_all([_LOOPS]):
        return Check("loop devices", "ok", "images can be mounted")
    return Check("loop devices", "limited", "images cannot be mounted", "modprobe loop")


def _network_pairs() -> Check:
    """Whether the kernel joins two network namespaces; tried in one that is gone again."""
    name = "network pairs"
    if not HERE.is_root:
        return Check(name, "limited", "only root can make network namespaces", "sudo tiltyard …")
    try:
        HERE.run(("unshare", "--net", "ip", "link", "add", "type", "veth"))
    except TiltyardError as error:
        return Check(
            name, "limited", f"two ends cannot be joined here: {error}", load_command(HERE, "veth")
        )
    return Check(name, "ok", "two network namespaces can be joined by virtual devices")


def _kvm() -> Check:
    """Whether stock kernels run as guests at native speed; tried."""
    proof = kvm.prove()
    return Check("KVM", "ok" if proof.usable else "limited", proof.text)


def _tool(tool: Tool) -> Check:
    """A program and its package."""
    if HERE.has(tool.command):
        return Check(tool.command, "ok", "installed")
    fix = install_command(HERE, tool.package)
    return Check(tool.command, "limited", f"not installed: {tool.without}", fix)


def _state() -> Check:
    """The ledger must be writable, or nothing may be changed on the host."""
    directory = state_directory()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    try:
        own_state_directory()
    except RefusedError as error:
        return Check("record of changes", "missing", str(error))
    if os.access(existing, os.W_OK):
        return Check("record of changes", "ok", f"kept in {directory}")
    return Check(
        "record of changes",
        "missing",
        f"{directory} cannot be written, so nothing may be changed on this host",
        "export TILTYARD_STATE=DIRECTORY",
    )


def _space(directory: Path) -> Check:
    """Room for images."""
    free_bytes = HERE.space(directory.resolve()).free_bytes
    status: Literal["ok", "limited"] = "ok" if free_bytes >= _WANTED_BYTES else "limited"
    return Check("free space", status, f"{format_size(free_bytes)} free in {directory.resolve()}")


def _cachestat() -> Check:
    """Whether cache states can be proven without mapping files."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(_CACHESTAT, -1, None, None, 0)
    if ctypes.get_errno() != errno.ENOSYS:
        return Check("cachestat", "ok", "cache states are proven by the kernel's own count")
    return Check("cachestat", "limited", "Linux before 6.5: mincore is used instead")


def _bounded_cache() -> Check:
    """A memory group keeps small files out of a cache that would hold them."""
    name = "bounded cache"
    found = HERE.mounts()
    second = next((mount.target for mount in found if mount.type == "cgroup2"), None)
    if any(mount.type == "cgroup" and "memory" in mount.options.split(",") for mount in found):
        return Check(name, "ok", "out-of-cache access bounds the page cache (cgroup version 1)")
    without = "out-of-cache access needs files of several times the memory"
    if second is None:
        return Check(name, "limited", without, "mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    handed_down = second / "cgroup.subtree_control"
    if "memory" in (HERE.read(handed_down) or "").split():
        return Check(name, "ok", "out-of-cache access bounds the page cache (cgroup version 2)")
    return Check(name, "limited", without, f"echo +memory > {handed_down}")


def _cpus() -> Check:
    """The lab and its display should not sit on the CPU that measures."""
    count = len(HERE.cpus)
    if quota := cpu_quota():
        text = f"the programs of a study may use {quota}: their control group has a quota"
        return Check("CPUs", "limited", text)
    if count > 1:
        return Check("CPUs", "ok", f"{count}: measuring threads get one of their own")
    return Check("CPUs", "limited", "one only: the lab shares it with what is measured")


def _idle() -> Check:
    """Waking an idle virtual CPU can cost more than the I/O that is measured."""
    name = HERE.read(_IDLE_DRIVER) or "none"
    if virtualisation() != NONE_SEEN:
        return Check(
            "idle CPUs",
            "limited",
            f"virtual CPUs (idle driver: {name}): waking one that halted can cost tens of µs",
            "conditions: keep_awake = true in the study",
        )
    return Check("idle CPUs", "ok", f"idle driver: {name}")


def _noise() -> Check:
    """A quick look at what others do: CPU time that is not idle, and time stolen from us."""
    before = _cpu_times()
    time.sleep(_NOISE_WINDOW_S)
    spent = [after - was for after, was in zip(_cpu_times(), before, strict=True)]
    total = sum(spent) or 1
    busy = (spent[0] + spent[1] + spent[2]) / total
    stolen = spent[7] / total
    meaning = f"others use {busy:.0%} of the CPUs, the hypervisor took {stolen:.0%}"
    if max(busy, stolen) < _NOISY_SHARE:
        return Check("quiet", "ok", meaning)
    return Check("quiet", "limited", f"{meaning}: trials will be disturbed", "top")


def _cpu_times() -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal of all CPUs, in clock ticks."""
    first = (HERE.read(_CPU_TIMES) or "").partition("\n")[0]
    return [int(word) for word in first.split()[1:9]]
