"""Systems under test: bring one up, take it down.

A kind of system is one file and one line in :data:`KINDS`.
"""

from tiltyard.systems import directory, loop_image, pair
from tiltyard.systems.kind import AnyKind

KINDS: tuple[AnyKind, ...] = (
    loop_image.KIND,
    directory.KIND,
    pair.KIND,
)
"""In the order in which help and documentation show them."""


def kind(name: str) -> AnyKind:
    """The kind of that name.

    Raises:
        KeyError: if there is none.
    """
    return {entry.name: entry for entry in KINDS}[name]
