"""Whose directories we use: what another user may change is neither written to nor believed.

An ordinary user risks only his own files, so that only the directory itself is looked at. Root is
held to more, as sshd(8) holds a home to it (StrictModes): each directory on the way must belong to
who is trusted, since its owner may put another one in the place of what lies below.
"""

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.errors import RefusedError

_OF_ALL_USERS: Final = ["0", "0", "4294967295"]
_LINKS_MAX: Final = 40
"""As many links as the kernel follows on one way: path_resolution(7)."""


def cache_directory() -> Path:
    """Where what can be made again is kept, of this user; it need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tiltyard"


def require_ours(directory: Path, mend: str, *, others: int = stat.S_IWOTH) -> None:
    """Refuse a directory in which another user has a hand; one that is not there may be made.

    Trusted are the user, root, and who called sudo(8).

    Args:
        directory: what is to be used.
        mend: what a person can do instead.
        others: the bits of a mode that nobody may have on the directory itself.

    Raises:
        RefusedError: if another user owns it, or may write to it, or, where we are root, could put
            another one in its place.
    """
    trusted = _trusted()
    for at, found, is_last in _way_to(directory):
        if found.st_uid not in trusted:
            fault = f"belongs to {_name(found.st_uid)}"
        elif is_last and found.st_mode & others:
            fault = f"others can write to it (mode {stat.S_IMODE(found.st_mode):04o})"
        elif not is_last and _lets_anybody_swap(found):
            fault = "anybody can write to it"
        else:
            continue
        where = "" if is_last else f"{at} "
        raise RefusedError(f"{directory}: not used: {where}{fault}. Fix: {mend}")


def require_plain(path: Path, *, is_directory: bool = False) -> None:
    """Refuse what lies in the place of a file or directory of ours and is none.

    Raises:
        RefusedError: if it is a link, or neither a file nor a directory.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode) if is_directory else stat.S_ISREG(mode):
        return
    what = "a link" if stat.S_ISLNK(mode) else f"no {'directory' if is_directory else 'file'}"
    raise RefusedError(f"{path}: {what}, in a place that Tiltyard writes to. Fix: remove it")


def require_plain_inside(directory: Path) -> None:
    """The same for all that is in a directory, which need not be there."""
    below = [directory] if directory.is_dir() else []
    while below:
        with os.scandir(below.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    require_plain(Path(entry.path))


def _trusted() -> frozenset[int]:
    """Users who may own what we use."""
    called_by = os.environ.get("SUDO_UID", "")
    sudo = {int(called_by)} if os.geteuid() == 0 and called_by.isdecimal() else set()
    return frozenset({0, os.geteuid(), *sudo})


def _is_root() -> bool:
    """Whether we may do anything; not so in a user namespace, where others are not known."""
    mapped = Path("/proc/self/uid_map").read_text().split()
    return os.geteuid() == 0 and mapped == _OF_ALL_USERS


def _way_to(directory: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Each directory and link on the way, as far as it is there; whether it is the last one."""
    if not _is_root():
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield directory, directory.stat(), True
        return
    at, links = Path("/"), 0
    ahead = list(reversed(directory.absolute().parts[1:]))
    yield at, at.lstat(), not ahead
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = at.parent
            continue
        try:
            found = (at / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        is_link = stat.S_ISLNK(found.st_mode)
        yield at / name, found, not ahead and not is_link
        if not is_link:
            at = at / name
            continue
        links += 1
        if links > _LINKS_MAX:
            return
        aim = (at / name).readlink()
        at = Path("/") if aim.is_absolute() else at
        ahead += reversed(aim.parts[1:] if aim.is_absolute() else aim.parts)


def _lets_anybody_swap(found: os.stat_result) -> bool:
    """A directory for all is one where names stay only if it is sticky, as /tmp is."""
    mode = found.st_mode
    return stat.S_ISDIR(mode) and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
