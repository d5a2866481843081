"""What a profile acts on."""

from dataclasses import dataclass

from tiltyard.host.place import HERE, Place


@dataclass(frozen=True)
class Scene:
    """A host, and those of its devices that the system under test uses."""

    place: Place = HERE
    devices: tuple[str, ...] = ()
    """Block devices, topmost first: ``/dev/loop0``."""
    interfaces: tuple[str, ...] = ()
    """Network devices: ``eth0``."""
