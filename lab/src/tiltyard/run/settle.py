"""Before a trial: let what was written earlier reach the disk, so that nobody pays for others.

The host's agent waits until disks have come to rest (``settle.rs``), and on a busy host for a tenth
of a trial, two seconds at most; what it then looked like is in the journal. CPU time and heat are
not waited for: neighbours do not stop because we wait, and the gates see both.

Before a trial of less than a second nothing is waited for where we have written next to nothing:
what others do during the trial is in its telemetry.
"""

from typing import Final

from tiltyard.host.place import HERE, Place
from tiltyard.wire import HostSettled

IDLE_BYTES: Final = 2**20
_LIMIT_S = 2.0


def patience_s(trial_s: float | None) -> float:
    """Longest wait before a trial that takes so long; ``None``: that is not known."""
    return _LIMIT_S if trial_s is None else min(_LIMIT_S, trial_s / 10)


def settle(
    place: Place = HERE, *, brief: bool = False, trial_s: float | None = None
) -> HostSettled:
    """Sync, then give other users of the host's disks a moment to come to rest.

    Args:
        place: the host that the trial will run on.
        brief: the trial takes less than a second, and nothing of ours waits to be written.
        trial_s: how long the trial takes, where that is known.

    Raises:
        UnreachableError: if that is another host, and it is not reached.
    """
    if brief and not place.is_remote:
        return place.host.settle(0, sync=False)
    return place.host.settle(patience_s(trial_s))
