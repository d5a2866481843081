"""Kills at moments that are counted in changes of the host, and not in seconds.

A busy machine has changed nothing after a time in which a fast one has done all.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from support.looks import read_small
from support.patience import wait_until
from support.sshd import children_of
from tiltyard.host.host import here, hosts
from tiltyard.host.steps import Op
from tiltyard.wire import HostDid

_AFTER_S = 0.05
"""What comes next takes about as long."""


_FOLLOWS = "/queue/nr_requests"
"""Is another one with another scheduler, which is put back after it."""


@dataclass
class Told:
    """What ledgers of agents tell of."""

    kinds: list[str] = field(default_factory=list)
    """Of the changes that are not taken back."""
    last_number: int = 0
    """Of all changes."""
    before: dict[str, str] = field(default_factory=dict)
    """File of the kernel → what it was before an agent has set it."""

    def add(self, path: Path) -> None:
        """What one tells."""
        with contextlib.suppress(FileNotFoundError):
            changes: dict[int, str] = {}
            text = path.read_text()
            # What comes after the last newline is being written.
            for line in text[: text.rfind("\n") + 1].splitlines():
                entry = json.loads(line)
                if "change" in entry:
                    change = entry["is"]
                    changes[entry["change"]] = change["kind"]
                    self.last_number += 1
                    if change["kind"] == "set" and not change["file"].endswith(_FOLLOWS):
                        self.before[change["file"]] = change["before"]
                changes.pop(entry.get("undone"), None)
            self.kinds += changes.values()


Wanted = Callable[[Told], bool]


def agents_of(pid: int) -> list[int]:
    """The agents of this host that a process has started."""
    return [one for one in children_of(pid) if b"\0agent\0" in _words(one)]


def _words(pid: int) -> bytes:
    return (read_small(f"/proc/{pid}/cmdline") or "").encode()


def told_by(pids: Iterable[int], state: Path) -> Told:
    """What processes have written down of their changes so far."""
    told = Told()
    for pid in pids:
        for path in state.glob(f"{pid}-*"):
            told.add(path)
    return told


def ledgers_in(state: Path) -> Told:
    """What all ledgers tell of."""
    told = Told()
    for path in state.glob("*.ops"):
        told.add(path)
    return told


def token_of(state: Path) -> str:
    """Of the run that has changed something, by what it has made or started."""
    text = "".join(path.read_text() for path in state.glob("*.ops"))
    found = re.search(r"tiltyard-([0-9a-f]{8})", text)
    assert found, text
    return found[1]


def left_by_a_killed_agent(*ops: Op) -> HostDid:
    """Changes of an agent of this host that is killed then."""
    agent = here()
    did = agent.change([op.op(str) for op in ops])
    os.kill(agent.pid, signal.SIGKILL)
    hosts.close()
    return did


def kill_when(
    wanted: Mapping[subprocess.Popen[bytes], Wanted], state: Path, moments: Random
) -> Told:
    """Kill each process soon after its ledger has become so, and while it is.

    Args:
        wanted: what each one's ledgers shall be like; they are children of this process.
        state: the directory of ledgers.
        moments: draws how soon, and whether its agent is killed with it.

    Returns:
        What they told then: an agent that lives takes it back by itself.
    """
    left, found = dict(wanted), Told()

    def ready() -> list[subprocess.Popen[bytes]]:
        return [process for process in left if left[process](_told_now(process, state))]

    while left:
        wait_until(ready, "no ledger becomes so", pause_s=0.002)
        time.sleep(moments.uniform(0, _AFTER_S))
        for process in ready():
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if left[process](told := _told_now(process, state)):
                found.kinds += told.kinds
                found.before |= told.before
                for agent in agents_of(process.pid) if moments.random() < 0.5 else ():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(agent, signal.SIGKILL)
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
                del left[process]
            else:
                process.send_signal(signal.SIGCONT)
    return found


def _told_now(process: subprocess.Popen[bytes], state: Path) -> Told:
    """What the ledgers of one that runs tell."""
    assert process.poll() is None, "it ended before it could be killed"
    return told_by(agents_of(process.pid), state)


def holds(kind: str) -> Wanted:
    """Whether a change of a kind is not taken back."""
    return lambda told: kind in told.kinds


def in_the_middle(changes: int) -> Wanted:
    """Whether so many have been made so far, and not all of them are taken back."""
    return lambda told: told.last_number >= changes and len(told.kinds) > 1
