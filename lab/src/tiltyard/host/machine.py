"""The lock of this machine: one run at a time changes what all of it shares.

Two runs whose ledgers are in different state directories do not see each other, and each would put
back what the other had set. So the lock lies where every process lies that could make such a change
here, and says whose it is: who takes it after a holder that was killed puts that ledger back first.
The ledger's own lock is what the commands of a holder inherit; this one ends with the holder.
"""

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tiltyard.errors import BusyError, HostLacksError, RefusedError
from tiltyard.frozen import Frozen
from tiltyard.host.processes import Process

LOCK: Final = Path("/run/tiltyard.lock")
_MOST_BYTES: Final = 16_384


class Holder(Frozen):
    """Who holds it, or held it last."""

    process: Process
    ledger: Path
    """Tells what it has changed."""


def take(what: str) -> int | None:
    """The locked file, which only root has: nobody else can change what it is about.

    Args:
        what: is to be changed, as a person calls it.

    Raises:
        BusyError: if a process that lives holds it.
        RefusedError: if what lies there is not root's.
        HostLacksError: if it cannot be made.
    """
    if os.geteuid() != 0:
        return None
    while True:
        try:
            file = _opened(what)
        except PermissionError:
            return None  # Root of a user namespace, where nothing of the machine can be changed.
        try:
            _require_of_root(file)
            _lock(file, what)
            if _lies_there(file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # Its holder has removed it meanwhile.


def let_go(file: int, *, done: bool) -> None:
    """Unlock it.

    Args:
        file: what was taken.
        done: nothing of the holder's is changed any more, so that nobody has to know of it.
    """
    if done:
        LOCK.unlink(missing_ok=True)
    os.close(file)


def read(file: int) -> Holder | None:
    """What the file says; ``None`` where nobody has held it in this boot."""
    try:
        return Holder.model_validate_json(os.pread(file, _MOST_BYTES, 0))
    except ValidationError:
        return None


def write(file: int, holder: Holder) -> None:
    """Say whose the lock is."""
    os.ftruncate(file, 0)
    os.pwrite(file, holder.model_dump_json().encode(), 0)


def _opened(what: str) -> int:
    try:
        return os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except PermissionError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise RefusedError(f"{LOCK}: not a file; look who made it, then remove it") from None
        raise HostLacksError(f"{what}: cannot lock {LOCK}: {error.strerror}") from None


def _lock(file: int, what: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = read(file)
        who = f"process {holder.process.pid}, {holder.ledger}" if holder else f"see: fuser {LOCK}"
        raise BusyError(
            f"{what} is taken by another run ({who}); one at a time changes this machine. "
            "Wait for its end"
        ) from None


def _lies_there(file: int) -> bool:
    """Whether others who look for the lock find this file."""
    try:
        return os.path.samestat(os.fstat(file), LOCK.lstat())
    except FileNotFoundError:
        return False


def _require_of_root(file: int) -> None:
    """Whoever could write it would choose what root puts back."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o077:
        raise RefusedError(
            f"{LOCK}: not a file of root's with mode 0600; look who made it, then remove it"
        )
