"""What the kernel starts with, where that is computed and not written down as a number.

Each function names the place in the kernel's source that it follows (Linux 6.18; what older ones
do otherwise is said). None changes anything; each is asked of the host that is tuned.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from tiltyard.host import sysctls
from tiltyard.host.place import Place
from tiltyard.tuning.setting import LackError
from tiltyard.tuning.values import memory_bytes

_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
            "/lib/sysctl.d")  # fmt: skip
"""A file hides those of its name in later folders."""
_LAST = "/etc/sysctl.conf"


def sysctls_at_boot(place: Place) -> dict[str, str]:
    """Kernel parameters that the files of a host set at boot, the last word on each.

    Patterns (``net.ipv4.conf.*.rp_filter``) are left out: they are about devices.
    """
    by_name: dict[str, str] = {}
    for folder in _FOLDERS:
        for path in place.find(f"{folder}/*.conf"):
            by_name.setdefault(path.rpartition("/")[2], path)
    paths = [*(by_name[name] for name in sorted(by_name)), _LAST]
    texts = place.read_all(paths)
    found: dict[str, str] = {}
    for path in paths:
        for line in texts.get(path, "").splitlines():
            key, equals, value = line.strip().partition("=")
            key = key.strip().removeprefix("-").strip().replace("/", ".")
            if equals and not key.startswith(("#", ";")) and "*" not in key:
                found[key] = sysctls.normal(value)
    return found


_MIB = 2**20
_READ_AHEAD_KIB = 128
_PAGE_KIB = 4
_FIRST = "^# Automatically generated"
"""Of each config file: grep(1) calls it a failure to find nothing."""


def tcp_rmem(place: Place) -> str:
    """``tcp_init`` in net/ipv4/tcp.c: the largest is bounded by memory / 128, else constant.

    32 MiB since Linux 6.16, 6 MiB before.
    """
    largest = (32 if release(place) >= (6, 16) else 6) * _MIB
    return f"4096 131072 {max(131072, min(largest, memory_bytes(place) // 128))}"


def tcp_wmem(place: Place) -> str:
    """``tcp_init`` in net/ipv4/tcp.c: at most 4 MiB, bounded by memory / 128."""
    return f"4096 16384 {max(65536, min(4 * _MIB, memory_bytes(place) // 128))}"


def somaxconn(place: Place) -> str:
    """``SOMAXCONN`` in include/linux/socket.h: 4096 since Linux 5.4, 128 before."""
    return "4096" if release(place) >= (5, 4) else "128"


def numa_balancing(place: Place) -> str:
    """``check_numabalancing_enable`` in mm/mempolicy.c: on if there is more than one node."""
    chosen = config(place, ("CONFIG_NUMA_BALANCING_DEFAULT_ENABLED",))
    nodes = place.find("/sys/devices/system/node/node[0-9]*")
    return "1" if chosen and len(nodes) > 1 else "0"


def _scheduler_granularity(base_ns: int) -> Callable[[Place], str]:
    """kernel/sched/fair.c, "SCHED_TUNABLESCALING_LOG": base × (1 + log2 of up to 8 CPUs)."""

    def computed(place: Place) -> str:
        cpus = min(8, len(place.find("/sys/devices/system/cpu/cpu[0-9]*")))
        return str(base_ns * cpus.bit_length())

    return computed


SYSCTLS: Final[Mapping[str, Callable[[Place], str]]] = {
    "net.ipv4.tcp_rmem": tcp_rmem,
    "net.ipv4.tcp_wmem": tcp_wmem,
    "net.core.somaxconn": somaxconn,
    "kernel.numa_balancing": numa_balancing,
    "kernel.sched_min_granularity_ns": _scheduler_granularity(750_000),
    "kernel.sched_wakeup_granularity_ns": _scheduler_granularity(1_000_000),
}
"""Kernel parameter → what it starts with."""


def read_ahead_kb(place: Place, queue: str) -> str:
    """``blk_apply_bdi_limits`` in block/blk-settings.c: 128 KiB, or twice the optimal I/O size.

    Since Linux 6.17 a device that turns and names no optimal size has twice its largest I/O.
    """
    optimal_kib = int(place.read(f"{queue}/optimal_io_size") or 0) // 1024
    turns = place.read(f"{queue}/rotational") == "1"
    if not optimal_kib and turns and release(place) >= (6, 17):
        optimal_kib = int(place.read(f"{queue}/max_sectors_kb") or 0)
    return str(max(_READ_AHEAD_KIB, optimal_kib * 2 // _PAGE_KIB * _PAGE_KIB))


def scheduler(place: Place, queue: str) -> str:
    """``elevator_set_default`` in block/elevator.c: mq-deadline where there is one hardware queue.

    Loop devices and those stacked on others ask for none.
    """
    device = queue.removesuffix("/queue")
    name = device.rpartition("/")[2]
    many = len(place.find(f"{device}/mq/[0-9]*")) != 1
    return "none" if many or name.startswith(("loop", "dm-", "md")) else "mq-deadline"


def hugepages_enabled(place: Place) -> str:
    """``CONFIG_TRANSPARENT_HUGEPAGE_…``, mm/Kconfig: what the distribution has chosen."""
    return _of_config(place, "CONFIG_TRANSPARENT_HUGEPAGE_", ("always", "madvise", "never"))


def governor(place: Place) -> str:
    """``CONFIG_CPU_FREQ_DEFAULT_GOV_…``, drivers/cpufreq/Kconfig: the distribution's choice."""
    governors = ("performance", "powersave", "userspace", "ondemand", "conservative", "schedutil")
    return _of_config(place, "CONFIG_CPU_FREQ_DEFAULT_GOV_", governors)


def release(place: Place) -> tuple[int, int]:
    """Version of the kernel that runs there."""
    match = re.match(r"(\d+)\.(\d+)", place.read("/proc/sys/kernel/osrelease") or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)


def config(place: Place, options: tuple[str, ...]) -> list[str]:
    """Those of some options that the kernel there is built with.

    Raises:
        LackError: if it does not say.
    """
    kernel = place.read("/proc/sys/kernel/osrelease")
    for path in ("/proc/config.gz", f"/boot/config-{kernel}", f"/lib/modules/{kernel}/config"):
        if place.find(path):
            lines = place.run(("zgrep", "-hE", f"^({'|'.join(options)})=y|{_FIRST}", path)).stdout
            return [line.partition("=")[0] for line in lines.splitlines() if line.endswith("=y")]
    raise LackError("the kernel does not say how it was built (no config file)")


def _of_config(place: Place, prefix: str, names: tuple[str, ...]) -> str:
    """The one of several names that the kernel is built to start with."""
    found = config(place, tuple(prefix + name.upper() for name in names))
    if not found:
        raise LackError("this kernel is built without it")
    return found[0].removeprefix(prefix).lower()
