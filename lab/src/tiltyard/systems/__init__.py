"""Systems under test: bring one up, take it down.

A kind of system is one file and one line in :data:`KINDS`.
"""

from tiltyard.systems import (
    block_device,
    directory,
    host,
    hosts,
    loop_image,
    loopback,
    mount,
    overlay,
    pair,
    tmpfs,
    vm,
)
from tiltyard.systems.kind import AnyKind
from tiltyard.systems.service import serviceable
from tiltyard.systems.there import anywhere
from tiltyard.systems.tuned import tunable

KINDS: tuple[AnyKind, ...] = (
    loop_image.KIND,
    block_device.KIND,
    directory.KIND,
    tmpfs.KIND,
    overlay.KIND,
    mount.KIND,
    vm.KIND,
    pair.KIND,
    loopback.KIND,
    hosts.KIND,
    directory.REMOTE,
    host.KIND,
)
"""In the order in which help shows them; where settings fit several, the first one is meant."""


def kind(name: str) -> AnyKind:
    """The kind of that name; its systems heed ``tuning``, ``service`` and ``host``.

    Raises:
        KeyError: if there is none.
    """
    return anywhere(tunable(serviceable({entry.name: entry for entry in KINDS}[name])))
