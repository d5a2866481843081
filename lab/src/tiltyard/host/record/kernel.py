"""The kernel: which, how it was built, how it was started, and what was loaded into it."""

import hashlib
import re
from typing import Final

from tiltyard.host.record.section import ABSENT, Command, Section, Seen

_SYSTEM = "/proc/sys/kernel"
_COMMAND_LINE = "/proc/cmdline"
_MODULES = "/proc/modules"
_BUILT_IN = "/proc/config.gz"
_PRIVATE = re.compile(r"uuid|^ip$|^root$|^resume$|mac|pass|key|token|secret|host|machine_id", re.I)
"""Names of boot parameters whose values say whose machine it is, or open it."""
_COMPILER = re.compile(r"\) \((.*)\) #")
"""Of ``Linux version 6.1 (builder@host) (gcc 12, GNU ld 2.40) #1 SMP``."""
_PREEMPT = re.compile(r"^CONFIG_PREEMPT_?(NONE|VOLUNTARY|LAZY|RT|)=y$", re.MULTILINE)
_DYNAMIC = "CONFIG_PREEMPT_DYNAMIC=y"
_HZ = re.compile(r"^CONFIG_HZ=(\d+)$", re.MULTILINE)
_TAINTS: Final = (
    "proprietary module", "module loaded by force", "processor out of its specification",
    "module removed by force", "machine check", "bad page", "asked for by a user", "kernel died",
    "ACPI table overridden", "warning issued", "staging driver", "workaround for firmware",
    "module from outside the tree", "unsigned module", "soft lockup", "live patch", "auxiliary",
    "struct layout randomised", "test in the kernel", "fwctl",
)  # fmt: skip
"""Bit by bit; Documentation/admin-guide/tainted-kernels.rst."""


def _tell(seen: Seen) -> dict[str, str]:
    config = _config(seen)
    hertz = _HZ.search(config)
    compiler = _COMPILER.search(seen.file("/proc/version"))
    return {
        "release": seen.file(f"{_SYSTEM}/osrelease"),
        "version": seen.file(f"{_SYSTEM}/version"),
        "architecture": seen.file(f"{_SYSTEM}/arch"),
        "built with": compiler[1] if compiler else ABSENT,
        "command line": _command_line(seen.file(_COMMAND_LINE)),
        "configuration, SHA-256": hashlib.sha256(config.encode()).hexdigest() if config else ABSENT,
        "preemption": _preemption(config),
        "ticks per second": hertz[1] if hertz else ABSENT,
        "tainted": _tainted(seen.file(f"{_SYSTEM}/tainted")),
        "modules": _modules(seen),
    }


def _command_line(text: str) -> str:
    """Boot parameters; of those that are private, the name."""
    words = (word.partition("=") for word in text.split())
    return " ".join(
        f"{name}=…" if equals and _PRIVATE.search(name) else f"{name}{equals}{value}"
        for name, equals, value in words
    )


def _config(seen: Seen) -> str:
    """How the kernel was built; empty where nobody tells."""
    return seen.answer(_print_config(seen))


def _print_config(seen: Seen) -> Command:
    """Prints the kernel's own configuration, else that of its package."""
    if _BUILT_IN in seen.links:
        return ("zcat", _BUILT_IN)
    return ("cat", f"/boot/config-{seen.file(f'{_SYSTEM}/osrelease')}")


def _preemption(config: str) -> str:
    """The model it was built for; a dynamic one can be changed at boot."""
    if not config:
        return ABSENT
    found = _PREEMPT.search(config)
    model = {"": "full", "RT": "real time"}.get(found[1], found[1].lower()) if found else "none"
    return f"{model}, can be chosen at boot" if _DYNAMIC in config.splitlines() else model


def _tainted(text: str) -> str:
    if not text.isdigit():
        return ABSENT
    bits = [word for place, word in enumerate(_TAINTS) if int(text) >> place & 1]
    return ", ".join(bits) or ("no" if text == "0" else text)


def _modules(seen: Seen) -> str:
    """How many, and those that taint, with their letters."""
    lines = [line.split() for line in seen.files.get(_MODULES, "").splitlines()]
    tainting = [f"{line[0]} {line[6]}" for line in lines if len(line) > 6]
    if not lines:
        return "none"
    return f"{len(lines)}" + (f", of which taint: {', '.join(tainting)}" if tainting else "")


def _ask(seen: Seen) -> list[Command]:
    return [_print_config(seen)]


SECTION = Section(
    name="kernel",
    tell=_tell,
    files=(
        *(f"{_SYSTEM}/{name}" for name in ("osrelease", "version", "arch", "tainted")),
        "/proc/version",
        _COMMAND_LINE,
        _MODULES,
    ),
    links=(_BUILT_IN,),
    ask=_ask,
)
