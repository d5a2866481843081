"""Kills at moments that are counted in changes of the host, and not in seconds.

A busy machine has changed nothing after a time in which a fast one has done all.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from support.patience import wait_until
from tiltyard.host.recovery import Content, read_ledger

Wanted = Callable[[Content], bool]
_AFTER_S = 0.05
"""What comes next takes about as long."""


def ledger_of(process: subprocess.Popen[bytes], state: Path) -> Content:
    """What a process has written down of its changes so far."""
    (path, *_) = [*state.glob(f"{process.pid}-*.jsonl"), Path("none")]
    try:
        return read_ledger(path)
    except FileNotFoundError:
        return Content()


def kill_when(
    wanted: Mapping[subprocess.Popen[bytes], Wanted], state: Path, moments: Random
) -> None:
    """Kill each process soon after its ledger has become so, and while it is.

    Args:
        wanted: what each one's ledger shall be like; they are children of this process.
        state: the directory of ledgers.
        moments: draws how soon.
    """
    left = dict(wanted)

    def ready() -> list[subprocess.Popen[bytes]]:
        return [process for process in left if _is_ready(process, left[process], state)]

    while left:
        wait_until(ready, "no ledger becomes so", pause_s=0.002)
        time.sleep(moments.uniform(0, _AFTER_S))
        for process in ready():
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if _is_ready(process, left[process], state):
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
                del left[process]
            else:
                process.send_signal(signal.SIGCONT)


def _is_ready(process: subprocess.Popen[bytes], wanted: Wanted, state: Path) -> bool:
    """Whether it runs, and its ledger is so now."""
    assert process.poll() is None, "it ended before it could be killed"
    return wanted(ledger_of(process, state))


def holds(kind: str) -> Wanted:
    """Whether a change of a kind is not taken back."""
    return lambda ledger: any(one.change.kind == kind for one in ledger.outstanding.values())


def in_the_middle(changes: int) -> Wanted:
    """Whether so many have been made so far, and not all of them are taken back."""
    return lambda ledger: ledger.last_number >= changes and len(ledger.outstanding) > 1
