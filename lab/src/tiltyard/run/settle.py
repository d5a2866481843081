"""Before a trial: let what was written earlier reach the disk, so that nobody pays for others.

The host's agent waits until disks have come to rest (``settle.rs``), and on a busy host for a tenth
of a trial, two seconds at most; what it then looked like is in the journal. CPU time and heat are
not waited for: neighbours do not stop because we wait, and the noise limits see both.

Before a trial of less than a second nothing is waited for where we have written next to nothing:
what others do during the trial is in its telemetry.
"""

from typing import Final, NamedTuple

from tiltyard.host.place import HERE, Place
from tiltyard.wire import HostSettled

IDLE_BYTES: Final = 2**20
_LIMIT_S = 2.0


class Settling(NamedTuple):
    """What is asked before a trial; ``HostSettle`` of the wire."""

    limit_s: float
    """Longest wait for others; 0: only what waits to be written is told."""
    sync: bool
    """Whether what is dirty is written first."""

    @classmethod
    def before(cls, trial_s: float | None, *, brief: bool = False) -> "Settling":
        """Of a trial that takes so long, where that is known.

        Args:
            trial_s: how long it takes.
            brief: less than a second, and nothing of ours waits to be written.
        """
        if brief:
            return cls(0, sync=False)
        return cls(_LIMIT_S if trial_s is None else min(_LIMIT_S, trial_s / 10), sync=True)


def settle(asked: Settling, place: Place = HERE) -> HostSettled:
    """Have a host's disks come to rest.

    Raises:
        UnreachableError: if that is another host, and it is not reached.
    """
    return place.host.settle(asked.limit_s, sync=asked.sync)
