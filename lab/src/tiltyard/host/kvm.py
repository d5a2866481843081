"""Whether kernels run under KVM here: proven by a timed loop, for the device alone proves nothing.

Where the host is itself a guest, ``/dev/kvm`` may be there and may execute guests in user mode at
full speed, and yet emulate each instruction of a guest's kernel.
"""

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEVICE: Final = Path("/dev/kvm")
SLOWER_AT_MOST: Final = 10.0
"""Guest kernel code that is slower by more than this is emulated. What a virtual machine monitor
must execute directly it executes at native speed (Popek and Goldberg 1974,
https://doi.org/10.1145/361011.361073); emulation costs some hundred times. Ten is far from both."""
_TIME_LIMIT_S: Final = 30.0
"""For a guest that never halts. The loops take some tenths of a second, but the process that runs
them may have to wait for a CPU, and that says nothing of KVM."""
_OTHERS: Final = "emulation and User-Mode Linux can"


@dataclass(frozen=True)
class Proof:
    """What came of the loop."""

    usable: bool
    text: str
    """What was found, and what follows from it."""


@functools.cache
def prove() -> Proof:
    """Time the loop natively and in a guest; tried once."""
    if not DEVICE.exists():
        return Proof(False, f"no {DEVICE}: stock kernels cannot run under KVM; {_OTHERS}")
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return Proof(False, f"{DEVICE} may not be opened by this user (group kvm); {_OTHERS}")
    if os.uname().machine != "x86_64":
        return Proof(False, f"{DEVICE} is there, but only of x86-64 is it known how to prove it")
    return prove_by((sys.executable, "-m", "tiltyard.host.kvm_loop"))


def prove_by(program: tuple[str, ...], time_limit_s: float = _TIME_LIMIT_S) -> Proof:
    """What a program finds that prints both rates as :mod:`tiltyard.host.kvm_loop` does."""
    try:
        done = subprocess.run(
            program, capture_output=True, text=True, timeout=time_limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return _refused(f"a loop in a guest's kernel mode did not end within {time_limit_s:g} s")
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return _refused(f"a guest could not be run: {said[-1]}")
    rates = json.loads(done.stdout)
    return judge(rates["native"], rates["guest"])


def judge(native: float, guest: float) -> Proof:
    """What two rates say, in turns of the same loop per second."""
    slower = native / guest
    if slower <= SLOWER_AT_MOST:
        return Proof(True, "guest kernel code runs at native speed: stock kernels can be used")
    return _refused(f"guest kernel code runs {slower:,.0f} times slower than native")


def _refused(found: str) -> Proof:
    return Proof(
        False, f"{DEVICE} is there, but {found}: stock kernels cannot run under it; {_OTHERS}"
    )
