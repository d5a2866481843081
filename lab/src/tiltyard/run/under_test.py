"""The facts of a system that is up, with the disks that it lies on in the end."""

from pathlib import Path

from tiltyard.host.record.stack import disks_below
from tiltyard.run.record import DISK_UNDER_TEST
from tiltyard.systems.kind import Up


def facts_of(up: Up) -> dict[str, str]:
    """What the system says of itself, and which disk is under test, where there is one here."""
    where = up.devices[0] if up.devices else up.target
    if up.engine or not isinstance(where, str | Path):
        return up.facts
    lies_on = disks_below(where)
    return {**up.facts, DISK_UNDER_TEST: lies_on} if lies_on else up.facts
