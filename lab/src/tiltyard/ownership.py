"""Whose directories we use: what another user may change is neither written to nor believed.

An ordinary user risks only his own files, so that only the directory itself is looked at. Root is
held to more, as sshd(8) holds a home to it (StrictModes): each directory on the way must belong to
who is trusted, since its owner may put another one in the place of what lies below. Where root
works below a directory of somebody else all the same, it is reached step by step and held open.
"""

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.errors import HostLacksError, RefusedError

_OF_ALL_USERS: Final = ["0", "0", "4294967295"]
_LINKS_MAX: Final = 40
"""As many links as the kernel follows on one way: path_resolution(7)."""
_STEP: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def home() -> Path:
    """The user's own directory.

    Raises:
        HostLacksError: if neither HOME nor the list of users names it.
    """
    return expanded(Path("~"))


def expanded(path: Path) -> Path:
    """A path with what ``~`` or ``~user`` at its beginning stands for.

    Raises:
        HostLacksError: if nobody knows.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        raise HostLacksError(
            f"{path}: {path.parts[0]} is the home of nobody known here. Fix: set HOME, or write "
            "the whole path"
        ) from None


def name_of(uid: int) -> str:
    """A user as others call him; one without a name by his number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def cache_directory() -> Path:
    """Where what can be made again is kept, of this user; it need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or home() / ".cache"
    return Path(cache) / "tiltyard"


def state_directory() -> Path:
    """Where ledgers are kept: it must survive a reboot, and be the same for every study.

    Hosts may share it: a ledger tells whose it is.
    """
    if explicit := os.environ.get("TILTYARD_STATE"):
        return Path(explicit)
    if _is_root():
        return Path("/var/lib/tiltyard")
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else home() / ".local" / "state") / "tiltyard"


def own_state_directory(state: Path | None = None) -> Path:
    """The state directory, or another one, in which no other user has a hand.

    Raises:
        RefusedError: if another user owns or may write to it.
    """
    directory = state or state_directory()
    mend = f"chown and chmod go-w {directory}, or name another one: TILTYARD_STATE"
    require_ours(directory, mend, others=stat.S_IWGRP | stat.S_IWOTH)
    return directory


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
    for at, found, is_last in _way_to(directory):
        fault = _swapped_by(found)
        if is_last and found.st_uid in _trusted():
            mode = f"others can write to it (mode {stat.S_IMODE(found.st_mode):04o})"
            fault = mode if found.st_mode & others else ""
        if fault:
            where = "" if is_last else f"{at} "
            raise RefusedError(f"{directory}: not used: {where}{fault}. Fix: {mend}")


def stranger_above(directory: Path) -> str:
    """Who could put something else in the place of what root makes in a directory; empty: nobody.

    Of an ordinary user always empty.
    """
    found = _way_to(directory) if _is_root() else ()
    return next((f"{at} {fault}" for at, one, _ in found if (fault := _swapped_by(one))), "")


@contextlib.contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Whatever fails in here is told of that file.

    Raises:
        OSError: with the file's name.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def held_open(directory: Path) -> Iterator[int]:
    """A directory, open as a place (``O_PATH``): what is done there is done in no other one.

    Root comes to it step by step, through no link that another user has laid, or could exchange.

    Raises:
        RefusedError: if there is such a link.
        OSError: with the directory's name.
    """
    with named_in_errors(directory):
        at = _walked(directory) if _is_root() else os.open(directory, _PLACE)
    try:
        yield at
    finally:
        os.close(at)


def led_to(directory: Path) -> Path:
    """The path without links of what a path leads to; otherwise as :func:`held_open`."""
    with held_open(directory) as held:
        return Path(f"/proc/self/fd/{held}").readlink()


@contextlib.contextmanager
def open_inside(above: int, name: str) -> Iterator[int]:
    """A directory in one that is held open, for reading: itself, and not what a link leads to.

    Raises:
        OSError: if it is none.
    """
    inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield inside
    finally:
        os.close(inside)


def make_directory(path: Path, mode: int = 0o777, *, exist_ok: bool = False) -> None:
    """Make a directory; see :func:`held_open`.

    Args:
        path: where.
        mode: of it.
        exist_ok: whether one that is there already will do.

    Raises:
        RefusedError: if another user could exchange what leads to it.
        OSError: if it cannot be made, or is no directory.
    """
    with held_open(path.parent) as above, named_in_errors(path):
        with contextlib.suppress(*((FileExistsError,) if exist_ok else ())):
            os.mkdir(path.name, mode, dir_fd=above)
        with open_inside(above, path.name):
            pass


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


def _walked(directory: Path) -> int:
    """The end of the way, open."""
    with contextlib.ExitStack() as passed:

        def step(name: str, above: int | None = None) -> int:
            at = os.open(name, _STEP, dir_fd=above)
            passed.callback(os.close, at)
            return at

        at, links = step("/"), 0
        ahead = list(reversed(directory.absolute().parts[1:]))
        while ahead:
            name = ahead.pop()
            above, at = at, step(name, at)
            found = os.fstat(at)
            if not stat.S_ISLNK(found.st_mode):
                continue
            if fault := _swapped_by(found) or _swapped_by(os.fstat(above)):
                raise RefusedError(
                    f"{directory}: not used: {name} is a link, and it, or the directory that it "
                    f"is in, {fault}. Fix: name what it leads to"
                )
            links += 1
            if links > _LINKS_MAX:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            aim = Path(os.readlink("", dir_fd=at))
            at = step("/") if aim.is_absolute() else above
            ahead += reversed(aim.parts[1:] if aim.is_absolute() else aim.parts)
        return os.open(".", _PLACE, dir_fd=at)


def _swapped_by(found: os.stat_result) -> str:
    """Who may exchange a link, or what lies in a directory, but for those who are trusted."""
    if found.st_uid not in _trusted():
        return f"belongs to user {name_of(found.st_uid)}"
    return "anybody can write to it" if _lets_anybody_swap(found) else ""


def _lets_anybody_swap(found: os.stat_result) -> bool:
    """A directory for all is one where names stay only if it is sticky, as /tmp is."""
    mode = found.st_mode
    return stat.S_ISDIR(mode) and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
