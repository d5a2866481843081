"""Block devices by what stays the same when names and numbers change, as the host's agent tells."""

from pathlib import Path
from typing import Final, Self

from pydantic import Field

from tiltyard.errors import HostLacksError, RefusedError
from tiltyard.frozen import Frozen
from tiltyard.host.commands import shown
from tiltyard.host.place import HERE, Place

_IDENTITIES: Final = (Path("/dev/disk/by-id"), Path("/dev/disk/by-partuuid"))


class BlockDevice(Frozen):
    """One device, as it is at this moment."""

    given: Path
    """The name under which a person asked for it."""
    node: str = Field(pattern=r"^/dev/[A-Za-z0-9_./:-]+$")
    """The kernel's own name: ``/dev/sdb``."""
    size_bytes: int
    model: str | None = None
    firmware: str | None = None
    serial: str | None = None
    wwn: str | None = None
    partuuid: str | None = None
    backing_file: Path | None = None

    @classmethod
    def at(cls, given: Path, place: Place = HERE) -> Self:
        """The device of that name.

        Raises:
            RefusedError: if there is none, or it is no block device.
        """
        name = str(given)
        found = place.ask(lambda host: host.read(devices=[name])).devices.get(name)
        if found is None:
            raise HostLacksError(f"{place} does not tell what {given} is")
        if found.refused is not None:
            raise RefusedError(shown(found.refused))
        told = {key: getattr(found, key) for key in cls.model_fields if key != "given"}
        with place.understood():
            return cls.model_validate({"given": given, **told})

    @property
    def marks(self) -> dict[str, str]:
        """What tells it from others, its size apart; what tells most first."""
        names = ("serial", "wwn", "partuuid", "backing_file")
        return {name: str(mark) for name in names if (mark := getattr(self, name))}


def is_identity(given: Path) -> bool:
    """Whether a name is made of the device's own marks, so that it means that one alone."""
    return given.parent in _IDENTITIES
