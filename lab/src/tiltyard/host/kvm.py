"""Whether virtual machines run under KVM here: a machine is started under it once, and timed.

Where the host is itself a guest, ``/dev/kvm`` may be there and yet emulate each instruction of a
guest's kernel. What runs is QEMU's own firmware, which finds nothing to boot and resets: the same
work under KVM and under emulation, without a kernel or an image.
"""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.host.commands import complaint
from tiltyard.host.packages import install_command
from tiltyard.host.place import HERE, Place

DEVICE: Final = Path("/dev/kvm")
QEMU: Final = "qemu-system-x86_64"
PACKAGE: Final = "qemu-system-x86"
PROCESSORS: Final[Mapping[str, tuple[str, ...]]] = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "tcg": ("-accel", "tcg", "-cpu", "max"),
}
"""What executes a guest, and as which processor: the trial and what relies on it start the same,
since a hypervisor that runs QEMU's default processor may refuse a register of the host's own."""
SLOWER_AT_MOST: Final = 3.0
"""KVM is there to be faster than emulation; the factor leaves room for a busy host. Where KVM
emulates a guest's kernel it took 13 times as long as QEMU's emulation."""
_AT_LEAST_S: Final = 2.0
"""A start of the program is allowed so much in any case."""
_TIME_LIMIT_S: Final = 60.0
_FIRMWARE: Final = (
    *("-nodefaults", "-no-user-config", "-display", "none", "-m", "16"),
    *("-boot", "reboot-timeout=1", "-no-reboot"),
)
"""Options of a machine whose firmware finds no disk, resets at once and so ends."""
_OTHERS: Final = "emulation and User-Mode Linux can"


@dataclass(frozen=True)
class Proof:
    """The outcome of the trial."""

    usable: bool
    text: str
    """What was measured, and what follows from it."""


@functools.cache
def prove(place: Place = HERE) -> Proof:
    """Time the firmware under emulation and under KVM; tried once on each host."""
    is_there, *may = place.passes(*((test, str(DEVICE)) for test in ("-e", "-r", "-w")))
    if not is_there:
        return Proof(False, f"no {DEVICE}: stock kernels cannot run under KVM; {_OTHERS}")
    if not all(may):
        return Proof(False, f"{DEVICE} may not be opened by this user (group kvm); {_OTHERS}")
    if _machine(place) != "x86_64":
        return Proof(False, f"{DEVICE} is there, but only on x86-64 is it known how to prove it")
    if not place.has(QEMU):
        text = f"{DEVICE} is there; whether it can be used is tried with {QEMU}"
        command = install_command(place, PACKAGE)
        return Proof(False, f"{text}, which is not installed: {command}")
    return judge(functools.partial(boot_time_s, place=place))


def _machine(place: Place) -> str:
    return place.run(("uname", "-m")).stdout


def judge(time_of: Callable[[str, float], float]) -> Proof:
    """Compare a machine under KVM with the same one under emulation.

    Args:
        time_of: gives the time in seconds that a machine takes with an accelerator (``"tcg"``,
            ``"kvm"``), and is ended after a limit in seconds, which is an error.
    """
    try:
        emulated_s = time_of("tcg", _TIME_LIMIT_S)
        limit_s = max(_AT_LEAST_S, SLOWER_AT_MOST * emulated_s)
        seconds = time_of("kvm", limit_s)
    except UnreachableError:
        raise
    except TiltyardError as error:
        return _refused(f"a guest could not be run: {error}")
    if seconds > limit_s:
        return _refused(f"a guest's firmware took {seconds:.1f} s, and {emulated_s:.1f} s emulated")
    return Proof(
        True,
        f"a guest's firmware took {seconds:.1f} s, and {emulated_s:.1f} s emulated: "
        "stock kernels can be used",
    )


def boot_time_s(accelerator: str, limit_s: float, place: Place = HERE) -> float:
    """Time from start to reset of a machine that has nothing to boot, in seconds.

    Raises:
        TiltyardError: if it fails, or takes longer than the limit.
    """
    began = time.monotonic()
    argv = (QEMU, *PROCESSORS[accelerator], *_FIRMWARE)
    ran = place.ask(lambda host: host.run(argv, limit_s=limit_s, ok=range(256)))
    if ran.status != 0:
        raise TiltyardError(complaint(ran.stderr, ran.status or 0))
    return time.monotonic() - began


def _refused(reason: str) -> Proof:
    return Proof(
        False, f"{DEVICE} is there, but {reason}: stock kernels cannot run under it; {_OTHERS}"
    )
