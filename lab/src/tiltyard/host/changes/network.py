"""The kinds of change that a system of two ends makes, and how each is taken back.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

from typing import Literal

from pydantic import Field

from tiltyard.errors import UnreachableError
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.place import Place

_RESTORES_S = 300.0
_RESTORE = r"""
if test -s "$1/restore" && test -s "$1/start.py"; then
    sh "$1/restore" && exit
    status=$?
    test ! -e "$1/start.py" || exit $status
fi
test ! -e "$1" || { rm -rf --one-file-system -- "$1" && echo removed; }
"""
"""A copy that is not whole has changed nothing yet, or is being removed; perhaps just now."""


class CopiedLab(HostChange):
    """The lab, copied to another host, and whatever it has changed there.

    It ends with the connection and removes itself when all is taken back: so where it still is,
    something may be left.
    """

    kind: Literal["copied-lab"] = "copied-lab"
    ssh: tuple[str, ...]
    """The command that reaches the host; what it shall do there is appended."""
    directory: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9-]+$")
    """In the user's home."""

    def undo(self) -> str | None:
        """End it, and have it take back what it has changed.

        Raises:
            UnreachableError: if the host is not reached; the message says what is left there.
            TiltyardError: if something there stays changed; the message has it.
        """
        said = _taken_back(Place(self.ssh), _RESTORE, self.directory)
        return f"{Place(self.ssh)}: {'; '.join(said.splitlines())}" if said else None


def _taken_back(place: Place, script: str, directory: str, *words: str) -> str:
    """What a script says of a directory on a host, also of Slurm when its allocation is over."""
    argv = ("sh", "-c", script, "sh", directory, *words)
    try:
        try:
            return place.by_shell(argv, _RESTORES_S)
        except UnreachableError as error:
            if (later := place.after_the_job(str(error))) is None:
                raise
            return later.by_shell(argv, _RESTORES_S)
    except UnreachableError as error:
        raise UnreachableError(f"{error}; {directory} is left there") from None
