"""The processors: what they are, how they are clocked, and which of them may be used."""

from collections import Counter

from tiltyard.host.record import dmi
from tiltyard.host.record.section import ABSENT, Section, Seen, either, joined

_INFO = "/proc/cpuinfo"
_CPU = "/sys/devices/system/cpu"
_FIRST = f"{_CPU}/cpu0"
_FREQUENCY = f"{_FIRST}/cpufreq"
_TELLING_FLAGS = (
    "aes", "avx", "avx2", "avx512f", "constant_tsc", "erms", "fsrm", "invpcid", "nonstop_tsc",
    "nx", "pcid", "pdpe1gb", "rdtscp", "sse4_2", "tsc_known_freq", "vmx", "svm", "hypervisor",
    "asimd", "crc32", "sve", "atomics",
)  # fmt: skip
"""What moves data, reads the clock or crosses into the kernel differently with them."""


def _tell(seen: Seen) -> dict[str, str]:
    def info(name: str) -> str:
        return seen.field(_INFO, name)

    flags = set(either(info("flags"), info("Features"), "").split())
    packages, cores = _counted(seen)
    return {
        "model": either(info("model name"), info("Model"), info("CPU implementer")),
        "vendor": info("vendor_id"),
        "family, model, stepping": joined(
            info("cpu family"), info("model"), info("stepping"), between=", "
        ),
        "microcode": either(seen.file(f"{_FIRST}/microcode/version"), info("microcode")),
        "packages": packages,
        "cores": cores,
        "CPUs": seen.file(f"{_CPU}/online"),
        "CPUs in number": str(_length(seen.files.get(f"{_CPU}/online", "0"))),
        "hardware threads per core": _threads(seen),
        "simultaneous multithreading": either(
            seen.file(f"{_CPU}/smt/control"), seen.file(f"{_CPU}/smt/active")
        ),
        **_caches(seen),
        "flags that matter": joined(*(flag for flag in _TELLING_FLAGS if flag in flags)),
        "socket": dmi.each(seen, "Processor Information", "Upgrade"),
        "external clock": dmi.each(seen, "Processor Information", "External Clock"),
        "frequency now": _mhz(info("cpu MHz")),
        "base frequency": _khz(seen.file(f"{_FREQUENCY}/base_frequency")),
        "highest frequency": _khz(seen.file(f"{_FREQUENCY}/cpuinfo_max_freq")),
        "frequency driver": seen.file(f"{_FREQUENCY}/scaling_driver"),
        "frequency governor": _of_all(seen, "cpufreq/scaling_governor"),
        "energy preference": _of_all(seen, "cpufreq/energy_performance_preference"),
        "turbo": _turbo(seen),
        "idle driver": seen.file(f"{_CPU}/cpuidle/current_driver"),
        "idle governor": either(
            seen.file(f"{_CPU}/cpuidle/current_governor_ro"),
            seen.file(f"{_CPU}/cpuidle/current_governor"),
        ),
        "idle states": _idle_states(seen),
        "isolated CPUs": _listed(seen, f"{_CPU}/isolated"),
        "CPUs without ticks": _listed(seen, f"{_CPU}/nohz_full"),
    }


def _counted(seen: Seen) -> tuple[str, str]:
    """Packages and cores, by their numbers."""
    cores: set[tuple[str, str]] = set()
    for path, package in seen.files.items():
        if path.startswith(_CPU) and path.endswith("/topology/physical_package_id"):
            core = path.replace("physical_package_id", "core_id")
            cores.add((package, seen.file(core)))
    packages = {package for package, _ in cores}
    return str(len(packages) or ABSENT), str(len(cores) or ABSENT)


def _threads(seen: Seen) -> str:
    """How many CPUs the first core is."""
    siblings = seen.files.get(f"{_FIRST}/topology/thread_siblings_list", "")
    return str(_length(siblings)) if siblings else ABSENT


def _length(cpus: str) -> int:
    """How many CPUs a list such as ``0-3,8`` has."""
    ranges = (part.partition("-") for part in cpus.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def _caches(seen: Seen) -> dict[str, str]:
    """Size of each cache of the first CPU, and how many CPUs share it."""
    found = {}
    for place in range(8):
        cache = f"{_FIRST}/cache/index{place}"
        level, kind = seen.file(f"{cache}/level"), seen.file(f"{cache}/type")
        if level == ABSENT:
            continue
        shared = _length(seen.files.get(f"{cache}/shared_cpu_list", "0"))
        of = "CPU" if shared == 1 else f"{shared} CPUs"
        what = f"L{level}" if kind == "Unified" else f"L{level} {kind.lower()}"
        found[f"{what} cache"] = f"{seen.file(f'{cache}/size')} per {of}"
    return found or {"caches": ABSENT}


def _of_all(seen: Seen, name: str) -> str:
    """A setting of every CPU, said once where it is the same."""
    values = Counter(
        text
        for path, text in seen.files.items()
        if path.startswith(f"{_CPU}/cpu") and path.endswith(f"/{name}")
    )
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value} on {count} CPUs" for value, count in values.items()) or ABSENT


def _turbo(seen: Seen) -> str:
    boost = seen.files.get(f"{_CPU}/cpufreq/boost")
    off = seen.files.get(f"{_CPU}/intel_pstate/no_turbo")
    if boost is None and off is None:
        return ABSENT
    return "on" if boost == "1" or off == "0" else "off"


def _idle_states(seen: Seen) -> str:
    """Names of the states of the first CPU, those that are switched off in brackets."""
    found = []
    for place in range(16):
        state = f"{_FIRST}/cpuidle/state{place}"
        name = seen.files.get(f"{state}/name")
        if name is not None:
            found.append(f"({name})" if seen.file(f"{state}/disable") == "1" else name)
    return " ".join(found) or ABSENT


def _listed(seen: Seen, path: str) -> str:
    """A list of CPUs; an empty one is there and says nothing."""
    return seen.files.get(path, "none" if path in seen.links else ABSENT)


def _khz(text: str) -> str:
    return f"{int(text) / 1000:g} MHz" if text.isdigit() else ABSENT


def _mhz(text: str) -> str:
    return f"{text} MHz" if text != ABSENT else ABSENT


SECTION = Section(
    name="processor",
    tell=_tell,
    files=(
        _INFO,
        *(
            f"{_CPU}/{name}"
            for name in (
                "online", "isolated", "nohz_full", "smt/control", "smt/active",
                "cpuidle/current_driver", "cpuidle/current_governor", "cpuidle/current_governor_ro",
                "cpufreq/boost", "intel_pstate/no_turbo",
            )
        ),
        *(
            f"{_CPU}/cpu[0-9]*/{name}"
            for name in (
                "topology/physical_package_id", "topology/core_id", "cpufreq/scaling_governor",
                "cpufreq/energy_performance_preference",
            )
        ),
        *(
            f"{_FIRST}/{name}"
            for name in (
                "topology/thread_siblings_list", "microcode/version", "cpufreq/scaling_driver",
                "cpufreq/base_frequency", "cpufreq/cpuinfo_max_freq", "cache/index*/level",
                "cache/index*/type", "cache/index*/size", "cache/index*/shared_cpu_list",
                "cpuidle/state*/name", "cpuidle/state*/disable",
            )
        ),
    ),
    links=(*dmi.LINKS, f"{_CPU}/isolated", f"{_CPU}/nohz_full"),
    ask=dmi.ask,
    volatile=frozenset({"frequency now"}),
)  # fmt: skip
