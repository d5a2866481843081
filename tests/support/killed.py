"""A system brought up and taken down by a process that is killed after an op.

It dies with its agent as soon as so many ops are executed, or rows of them taken back. The process
is a fork of the tests: to start Python anew for each op takes longer than all that it is about.
"""

import os
import signal
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from tiltyard.host.host import Host
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
from tiltyard.wire import HostDid, HostUndone

TUNING = """
about = "a little of everything"
[sysctl]
vm.vfs_cache_pressure = 77
[hugepages]
defrag = "defer"
[block]
nr_requests = 32
"""
"""A profile that changes something of each sort."""


def turn(name: str, settings: Mapping[str, Any], work: Path, lines: int) -> int | None:
    """One turn in a process of its own.

    Args:
        name: the kind of system.
        settings: of the system.
        work: where it works; ``work/work`` is its scratch space.
        lines: so many ops, after which the process is killed; 0 for never.

    Returns:
        How many there were; ``None`` if the process was killed.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(_lines_of_turn(name, settings, work, lines))
        except BaseException:
            said = traceback.format_exc()
        os.write(writes, said.encode()[-60_000:])
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    assert said.isdigit(), said
    return int(said)


def _lines_of_turn(name: str, settings: Mapping[str, Any], work: Path, lines: int) -> int:
    written = _dying_after(lines)
    with Ledger() as own:
        site = Site(root=work, work=work / "work", ledger=own)
        system = kind(name).system("one", settings, site)
        system.bring_up()
        system.take_down()
    return next(written) - 1


def _dying_after(lines: int) -> Iterator[int]:
    """Count ops from now on, from 1; what comes next is how many there will have been and one."""
    numbers = count(1)

    def die(agent: int) -> None:
        for pid in (agent, os.getpid()):
            os.kill(pid, signal.SIGKILL)

    def changing(self: Host, ops: Sequence[Mapping[str, object]], *rest: Any) -> HostDid:
        for place, _ in enumerate(ops, start=1):
            if next(numbers) == lines:
                change(self, ops[:place], *rest)
                die(self.pid)
        return change(self, ops, *rest)

    def undoing(self: Host, name: str, of: Sequence[int], *, still: bool = False) -> HostUndone:
        found = undo(self, name, of, still=still)
        if next(numbers) == lines:
            die(self.pid)
        return found

    change, undo = Host.change, Host.undo
    Host.change, Host.undo = changing, undoing  # type: ignore[method-assign]
    return numbers
