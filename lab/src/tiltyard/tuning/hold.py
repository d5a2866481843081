"""Hold a profile for as long as a command runs."""

import contextlib
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from tiltyard.errors import HostLacksError, UsageError
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.place import HERE
from tiltyard.host.steps import Steps
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Scene, Stage, apply, launched_by, told

_SET: Final[tuple[Stage, ...]] = ("host", "devices")


def held(
    profile: Profile,
    scene: Scene,
    command: Sequence[str],
    remark: Callable[[str], None],
    *,
    strict: bool = False,
) -> int:
    """Set a profile, run a command to its end, and put everything back.

    Args:
        profile: what is set.
        scene: where.
        command: has our standard streams; Ctrl-C ends it, and then the profile is put back.
        remark: is told what was set and what was put back.
        strict: refuse where something would be skipped.

    Returns:
        The exit status of the command; 128 + number of the signal that ended it.

    Raises:
        HostLacksError: if ``strict`` and something cannot be set; nothing is left set.
    """
    if not HERE.has(command[0]):
        raise UsageError(f'there is no program "{command[0]}"')
    for line in recover():
        remark(line)
    with Ledger() as ledger, contextlib.ExitStack() as stack:
        steps = Steps(ledger)
        stack.callback(steps.undo)
        settings = (one for of in _SET for one in profile.settings(of, scene))
        outcomes = apply(settings, steps)
        launched, start = launched_by(profile.settings("engine", scene))
        outcomes += launched
        skipped = [outcome for outcome in outcomes if outcome.status == "skipped"]
        if strict and skipped:
            raise HostLacksError(f"{skipped[0].name} cannot be set: {skipped[0].reason}")
        for fact, text in told(profile.names, outcomes).items():
            remark(f"{fact}: {text}")
        status = _run((*start, *command))
    remark("tuning: everything is as it was")
    return status


def _run(command: Sequence[str]) -> int:
    """Its end is awaited also where Ctrl-C was meant for it; SIGTERM is handed on."""
    with subprocess.Popen(command) as process:
        before = {
            signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
            signal.SIGTERM: signal.signal(
                signal.SIGTERM, lambda number, _: process.send_signal(number)
            ),
        }
        try:
            status = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return status if status >= 0 else 128 - status
