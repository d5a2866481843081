"""``reset = "reboot"`` on this host: it is booted before each turn, and the run goes on by itself.

A run that needs a boot writes down for which turn, has the host carry the same command out after
it, and ends. It is never asked for twice for one turn: if the host is found not to have booted, or
the turn was broken off after the boot, that is a person's matter or no matter at all. What the
run keeps over the boot (its image, its states) is in the journal, and in the ledger of the host's
agent, for the start that goes on.
"""

import shlex
import sys
from collections import Counter
from typing import Any, Final

from tiltyard.errors import BootingError, RefusedError, TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import HERE
from tiltyard.host.processes import boot_id
from tiltyard.host.resumption import (
    BOOT_COMMAND,
    environment_of_ours,
    require_systemd,
    resumption,
)
from tiltyard.host.steps import Steps
from tiltyard.plan.model import Plan
from tiltyard.run.context import Context
from tiltyard.run.history import History
from tiltyard.run.journal import BootAsked
from tiltyard.run.retry import retry_while_busy
from tiltyard.study.model import SystemSpec

_UPTIME: Final = "/proc/uptime"
ALLOW = "--allow-reboot"
_RESUMES: Final = "resume"
"""What a unit that goes on with a run is called, after the run's own name."""


THIS_HOST: Final = str(HERE)


def booted(system: SystemSpec) -> tuple[str, ...]:
    """The hosts that are booted before each turn of a system."""
    settings = system.settings
    if settings.get("reset") != "reboot":
        return ()
    if (server := settings.get("server")) is None:
        return (str(settings.get("host") or THIS_HOST),)
    # The client's host is that of the run.
    of_ends = {"client": THIS_HOST, "server": str(server)}
    asked = settings.get("reboots", "server")
    return tuple(host for end, host in of_ends.items() if asked in (end, "both"))


def boots(plan: Plan) -> dict[str, int]:
    """Host → how often it is booted if every block up to the last look is run; without spares."""
    hosts = {system.name: booted(system) for system in plan.systems}
    turns = (turn for block in plan.blocks for turn in block.turns)
    return dict(Counter(host for turn in turns for host in hosts[turn.system]))


def require_allowed(folder: StudyFolder, plan: Plan, *, allowed: bool) -> None:
    """Nothing boots a host that was not asked for twice: by the study, and by the command.

    Raises:
        RefusedError: if only the study asks for it.
        HostLacksError: if the run could not go on after a boot.
    """
    hosts = boots(plan)
    if not hosts:
        return
    if not allowed:
        listed = ", and ".join(f"{host} up to {number} times" for host, number in hosts.items())
        raise RefusedError(
            f'{folder.root}: reset = "reboot" boots hosts before turns: {listed}. '
            f"If that is meant: tiltyard run {folder.root} {ALLOW}"
        )
    if THIS_HOST not in hosts:
        return
    if not HERE.is_root:
        raise RefusedError(f'{folder.root}: reset = "reboot": only root can boot this host; sudo')
    require_systemd()


def arrive(ledger: Ledger, history: History) -> None:
    """After a boot go on with what was kept over it.

    The resumption has done its work: a later boot is somebody else's.
    """
    if history.starts:
        ledger.earlier = history.starts[-1].token
    if history.last_boot is None:
        return
    ledger.take_up(ledger.earlier, history.last_boot.kept)
    name = ledger.name(_RESUMES)
    for change in reversed(ledger.outstanding):
        if name in change.op:
            ledger.undo(change)


def boot_before_turn(context: Context, block: int, name: str) -> dict[str, str]:
    """Go on with a turn if this host was booted for it; otherwise have it booted.

    Returns:
        Facts about the boot; empty for a system that wants none.

    Raises:
        BootingError: the boot is asked for, and this run must end.
        TiltyardError: if it was asked for earlier and did not happen.
    """
    system = context.plan.system(name)
    if THIS_HOST not in booted(system):
        return {}
    asked = context.history.boot_asked(block, name)
    if asked is None:
        _boot(context, block, system)
    elif asked.boot == boot_id():
        raise TiltyardError(
            f"block {block}, {name}: this host was asked to boot ({asked.command}), but has not. "
            f"Boot it, then: tiltyard run {context.folder.root} {ALLOW}"
        )
    uptime_s = float((HERE.read(_UPTIME) or "nan").split()[0])
    return {"host booted before the turn": f"yes; up for {uptime_s:.0f} s"}


def _boot(context: Context, block: int, system: SystemSpec) -> None:
    """Leave everything so that the run goes on after the boot, and ask for it.

    The journal is told last: what is not told has not been asked for.
    """
    study = context.folder.study_root.resolve()
    folder = StudyFolder(context.folder.root.resolve())
    root = folder.root
    ledger = context.ledger
    stop = ("--stop-on-failure",) if context.stop_on_failure else ()
    flags = (ALLOW, "--wait", f"{context.wait_s:g} s", *stop)
    command = (sys.executable, "-m", "tiltyard", "run", str(study), *flags)
    about = f"Tiltyard goes on with the study in {root}"
    unit = ledger.name(_RESUMES)
    steps = resumption(unit, command, environment_of_ours(), folder.resumed, about)
    taking = Steps(ledger, context.interrupt.check, context.observer.note)
    retry_while_busy(context, system.name, lambda: taking.take(steps))
    kept = ledger.take_back_but_kept()
    told: Any = system.settings.get("reboot_command", BOOT_COMMAND)
    boot = tuple(map(str, told))
    asked = BootAsked(
        block=block,
        system=system.name,
        boot=boot_id(),
        command=shlex.join(boot),
        kept=kept,
    )
    context.journal.append(asked)
    ledger.hand_over(boot)
    raise BootingError(
        f"this host is being booted for block {block}, {system.name}; the run goes on by itself "
        f"({unit}.service), and says so in {root / 'resumed.log'}"
    )
