"""The kinds of change that Tiltyard makes on a host, as data, and how each is taken back.

A change is written to the ledger *before* it is made, so a recorded change may not have happened
yet, or may have been taken back already. Every ``undo`` therefore looks first: it acts only on
what is there and still ours, says what it did, and returns ``None`` if nothing was left to do. A
removal is synced: the ledger forgets it, and a power cut must not bring back what nobody remembers.
"""

import os
import shlex
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import sync_directory
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.changes.op import KeptCopy, MadeByOp, UsedAgent
from tiltyard.host.mounts import mounts_in
from tiltyard.ownership import held_open

_REMOVAL_S = 24 * 3600.0
"""Nobody waits longer for what millions of files take."""


class MadeFile(HostChange):
    """A file that did not exist before."""

    kind: Literal["file"] = "file"
    path: Path

    is_kept_over_boot: ClassVar = True

    @property
    def way_back(self) -> str:
        """It is removed."""
        return f"# remove {self.path}"

    @property
    def script(self) -> str:
        """The command for it."""
        return shlex.join(("rm", "-f", str(self.path)))

    def undo(self) -> str | None:
        """Remove it."""
        _require_prefix(self.path)
        try:
            with held_open(self.path.parent) as above:
                os.unlink(self.path.name, dir_fd=above)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return f"removed {self.path}"

    def sync(self) -> None:
        """Its name is gone."""
        sync_directory(self.path.parent)


class MadeDirectory(HostChange):
    """A directory that did not exist before; what is in it is ours too."""

    kind: Literal["directory"] = "directory"
    path: Path

    @property
    def way_back(self) -> str:
        """It is removed with what is in it."""
        return f"# remove {self.path} and what is in it"

    @property
    def script(self) -> str:
        """The command for it; never through a mount that was left."""
        return shlex.join(("rm", "-r", "-f", "--one-file-system", str(self.path)))

    def undo(self) -> str | None:
        """Remove it with all that is in it, unless something is mounted there."""
        _require_prefix(self.path)
        if not self.path.is_dir() or self.path.is_symlink():
            return None
        if inside := mounts_in(self.path.resolve()):
            raise RefusedError(f"{self.path}: not removed, because {inside[0].target} is mounted")
        remove_tree(self.path)
        return f"removed {self.path}"

    def sync(self) -> None:
        """Its name is gone."""
        if self.path.parent.is_dir():
            sync_directory(self.path.parent)


Change = Annotated[
    MadeFile | MadeDirectory | MadeByOp | KeptCopy | UsedAgent,
    Field(discriminator="kind"),
]


def take_back(change: Change) -> str | None:
    """Undo a change for good: what that did is on the disk, so that a ledger may forget it.

    Raises:
        TiltyardError, OSError: if that is not possible, whatever is the reason: other changes, and
            other runs, are not concerned.
    """
    try:
        if said := change.undo():
            change.sync()
    except (TiltyardError, OSError):
        raise
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise TiltyardError(
            f"{change.way_back}: not done: {type(error).__name__}: {why}. Fix: do that by hand"
        ) from error
    return said


def _require_prefix(path: Path) -> None:
    """A damaged ledger must not be able to name somebody's home directory."""
    if not path.is_absolute() or not path.name.startswith(PREFIX):
        raise RefusedError(f"{path}: not removed: its name does not begin with {PREFIX}")


def remove_tree(*paths: Path) -> None:
    """Remove files, and directories with all that is in them, whatever programs have made of them.

    Raises:
        TiltyardError: if something in it stays, which it names with the fix; the rest is gone.
        HostLacksError: if there is no engine, which removes it.
    """
    left = []
    for path in paths:
        try:
            path.rmdir()
        except OSError:
            left.append(path)
    if not left:
        return
    engine = Engine.find()
    try:
        commands.run((str(engine.path), "remove", *map(str, left)), timeout_s=_REMOVAL_S)
    except commands.CommandFailedError as error:
        raise TiltyardError(f"{left[0]}: {error.complaint}") from error
