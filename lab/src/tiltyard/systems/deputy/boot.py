"""A boot of another host before a turn: whether it may be booted, and the wait until it is back."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tiltyard.errors import BusyError, HostLacksError, TiltyardError, UnreachableError
from tiltyard.executors.engine import NAME
from tiltyard.host.ledger import state_directory
from tiltyard.host.packages import find_program
from tiltyard.host.place import Place
from tiltyard.host.processes import descendants, named, on_terminals
from tiltyard.host.recovery import read_ledger
from tiltyard.host.resumption import BOOT_COMMAND, has_systemd
from tiltyard.ownership import name_of
from tiltyard.units import format_duration

LIMIT_S: Final = 1200.0
"""How long a host may take to come back: large servers examine their memory for minutes."""
_ANSWER_S: Final = 30.0
_STEP_S: Final = 1.0
_LOOK: Final = r"""
boot=$(cat /proc/sys/kernel/random/boot_id) || exit
echo "$boot"
test "$boot" != "$1" || exit 0
test ! -d /run/systemd/system || timeout "$3" systemctl is-system-running --wait >/dev/null
cat /proc/uptime
test ! -s "$2/restore" || echo kept
"""
"""The boot, and after another one: until its services have started, for how long the host is up,
and whether the copy of the lab is still there."""


def require_bootable(command: Sequence[str], ledger: Path | None) -> None:
    """Make sure that this host can be booted, and that nobody loses anything by it.

    Args:
        command: what would boot it.
        ledger: ours, where we have one; others are of other runs.

    Raises:
        BusyError: if others are at work here.
        HostLacksError: if it cannot be booted.
    """
    if os.geteuid() != 0:
        raise HostLacksError("only root can boot it. Fix: host = root@…")
    fix = 'Fix: reboot_command = ["reboot"], or what boots it'
    if find_program(command[0]) is None:
        raise HostLacksError(f'there is no program "{command[0]}" to boot it. {fix}')
    if command[0] == BOOT_COMMAND[0] and not has_systemd():
        raise HostLacksError(f"{command[0]} boots no host without systemd as process 1. {fix}")
    if people := ", ".join(_logged_in()):
        raise BusyError(f"it is not booted while others are logged in: {people}")
    if runs := ", ".join(_other_runs(ledger)):
        raise BusyError(f"it is not booted while others measure there: {runs}")


def _logged_in() -> Iterator[str]:
    """``alice on pts/3 (vim)``."""
    for terminal, (user, program) in on_terminals().items():
        yield f"{name_of(user)} on {terminal} ({program})"


def _other_runs(ledger: Path | None) -> Iterator[str]:
    """Those that have a ledger here, and whatever executes an engine that we have not started."""
    for path in state_directory().glob("*.jsonl"):
        with contextlib.suppress(OSError, TiltyardError):
            owner = read_ledger(path).owner
            if path != ledger and owner and owner.lives():
                yield f"process {owner.pid}"
    ours = descendants(os.getpid())
    yield from (f"{NAME}, process {pid}" for pid in named((NAME,)) if pid not in ours)


def await_boot(
    place: Place, before: str, copy: Path, check: Callable[[], None]
) -> tuple[float, bool]:
    """Wait until a host has booted and is reached again.

    Args:
        place: how it is reached.
        before: the boot that it was asked in.
        copy: of the lab there.
        check: called meanwhile; may raise.

    Returns:
        For how many seconds it is up, and whether the copy is still there.

    Raises:
        UnreachableError: if it does not come back in time.
    """
    give_up = time.monotonic() + LIMIT_S
    while (left_s := give_up - time.monotonic()) > 0:
        check()
        settles_s = max(1.0, left_s - _ANSWER_S)
        argv = ("sh", "-c", _LOOK, "sh", before, str(copy), f"{settles_s:.0f}")
        try:
            said = place.by_shell(argv, settles_s + _ANSWER_S).split()
            if said[:1] != [before]:
                with place.understood():
                    return float(said[1]), said[-1] == "kept"
            why = "it has not begun to"
        except TiltyardError as error:
            why = str(error)
        time.sleep(_STEP_S)
    limit = format_duration(LIMIT_S)
    raise UnreachableError(f"{place} was told to boot and is not back after {limit}: {why}")
