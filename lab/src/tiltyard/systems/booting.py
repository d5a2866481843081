"""A boot before each turn: what boots a host (``reboot_command``), and how another one is booted.

Its agent says whether it may be booted, leaves what outlasts the boot to the one after it, and
carries the command out. The lab waits.
"""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Final

from pydantic import Field

from tiltyard.errors import BusyError, InterruptedRunError, TiltyardError, UnreachableError
from tiltyard.host.host import Host
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.host.resumption import BOOT_COMMAND, SYSTEMD
from tiltyard.phases import phase
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.untrusted_inputs import Brought, quoted
from tiltyard.units import format_duration

LIMIT_S: Final = 1200.0
"""How long a host may take to come back: large servers examine their memory for minutes."""
BOOTED: Final = "host booted before the turn"
"""Name of the fact that a host was."""
_STEP_S: Final = 1.0
_STARTS_S: Final = 60.0
"""So long its agent waits for its services, each time."""
_UPTIME: Final = "/proc/uptime"
_HAVE_STARTED: Final = ("systemctl", "is-system-running", "--wait")
_ANY: Final = range(256)
"""Exit codes: not all of its services need to have started."""

_BOOTS: Final = (BOOT_COMMAND, ("systemctl", "kexec"), ("reboot",))
"""What boots a host and does nothing else."""

BootCommand = Annotated[
    tuple[str, ...],
    Field(
        min_length=1,
        description='What boots the host with reset = "reboot", one word each: ["reboot"] where '
        "systemd is not process 1.",
    ),
]


def boot_command(command: Sequence[str]) -> Iterator[Brought]:
    """What boots a host (``reboot_command``), if it may do something else."""
    if tuple(command) not in _BOOTS:
        text = quoted(shlex.join(command))
        yield Brought("reboot_command", f"command {text}, executed by root")


def boot_problems(place: Place, command: Sequence[str]) -> list[Problem]:
    """What keeps another host from being booted now."""
    try:
        place.ask(lambda host: host.may_leave(command))
    except InterruptedRunError:
        raise
    except TiltyardError as error:
        passes = isinstance(error, BusyError | UnreachableError)
        return [Problem("error", str(error), passes=passes)]
    return []


def boot(place: Place, site: Site, command: Sequence[str]) -> str:
    """Boot another host, and wait until it is back; what is kept there for the run stays.

    Returns:
        That it was, as a fact.

    Raises:
        BusyError: if others are at work there; it is not booted.
        UnreachableError: if it does not come back.
        TiltyardError: if it cannot be booted.
    """
    ledger = site.ledger
    assert isinstance(ledger, Ledger), "a dry run boots nothing"
    before = place.ask(lambda host: (host.read(), host.boot))[1]
    ledger.leave(place, command)
    with phase(f"waiting until {place} has booted"):
        up_s = await_boot(place, before, site.check)
    ledger.come_back(place)
    return f"yes; up for {up_s:.0f} s"


def await_boot(place: Place, before: str, check: Callable[[], None]) -> float:
    """Wait until a host has booted, is reached again, and has started its services.

    Args:
        place: how it is reached.
        before: the boot that it was asked in.
        check: called meanwhile; may raise.

    Returns:
        For how many seconds it is up.

    Raises:
        UnreachableError: if it does not come back in time.
    """
    give_up = time.monotonic() + LIMIT_S
    why = ""
    while time.monotonic() < give_up:
        check()
        try:
            agent = place.host
            if _has_started(agent, before):
                with place.understood():
                    return float(agent.read(files=[_UPTIME]).files[_UPTIME].split()[0])
            why = "it has not begun to"
        except TiltyardError as error:
            why = str(error)
        time.sleep(_STEP_S)
    limit = format_duration(LIMIT_S)
    raise UnreachableError(f"{place} was told to boot and is not back after {limit}: {why}")


def _has_started(agent: Host, before: str) -> bool:
    """Whether an agent is of another boot, whose services have started."""
    has_systemd = agent.read(links=[SYSTEMD]).links  # One of the boot before may not answer.
    if agent.boot == before:
        return False
    if has_systemd:
        agent.run(_HAVE_STARTED, limit_s=_STARTS_S, ok=_ANY)
    return True
