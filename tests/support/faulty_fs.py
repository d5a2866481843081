"""A file system that fails as told: a directory passed through FUSE, with faults in a schedule.

A fault is one call of a kind, counted from the moment of mounting: the 3rd write ends with ENOSPC,
the 5th writes a part only, from the 7th on everything that changes something meets a read-only
file system. What was injected is told in order, so that a failure can be made again by its seed.
Another schedule can take the place of the first, so that one mount serves many.

Called as ``python -m support.faulty_fs SHOWS MOUNTED LOG SCHEDULED`` it serves one until it is
unmounted.
"""

import contextlib
import ctypes
import errno
import json
import os
import random
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from support.patience import wait_until

SHORT: Final = "short"
"""A write of which a part is taken, a read that gives a part: no error, fewer bytes."""
READ_ONLY: Final = "read-only"
"""From this call on, everything that changes something ends with EROFS."""
CHANGES: Final = ("create", "write", "fsync", "rename", "unlink", "mkdir", "truncate", "fsyncdir")
"""Kinds of calls that change something, or promise that a change will last."""
READS: Final = ("open", "read")
_FAULTS: Final[Mapping[str, Sequence[str]]] = {
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR", SHORT, SHORT, READ_ONLY),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    **dict.fromkeys(("create", "mkdir", "rename"), ("ENOSPC", "EIO", "EDQUOT", READ_ONLY)),
    **dict.fromkeys(("unlink", "truncate", "fsyncdir", "open"), ("EIO",)),
    "read": ("EIO", SHORT),
}


@dataclass(frozen=True)
class Fault:
    """What one call meets."""

    call: str
    """Its kind: one of :data:`CHANGES` or :data:`READS`."""
    nth: int
    """Which one of that kind, counted from 1."""
    what: str
    """The name of an error, :data:`SHORT` or :data:`READ_ONLY`."""
    path: str = ""
    """Only calls count whose path has this in it."""


def drawn(
    seed: int, faults: int = 3, within: int = 40, calls: Sequence[str] = CHANGES
) -> tuple[Fault, ...]:
    """A schedule; the same seed draws the same.

    Args:
        seed: any number.
        faults: how many, at most.
        within: the last call of a kind that may meet one.
        calls: kinds of calls that may meet one.
    """
    draw = random.Random(seed)
    kinds = [draw.choice(calls) for _ in range(draw.randint(1, faults))]
    return tuple(Fault(c, draw.randint(1, within), draw.choice(_FAULTS[c])) for c in kinds)


def schedule(shows: Path, faults: Sequence[Fault]) -> None:
    """What calls meet from now on, counted anew; the log begins anew.

    Args:
        shows: the directory that is shown.
        faults: all of them.
    """
    shows.with_name(f"{shows.name}.faults").write_bytes(b"")
    new = shows.with_name(f"{shows.name}.schedule.new")
    new.write_text(json.dumps([asdict(fault) for fault in dict.fromkeys(faults)]))
    new.replace(new.with_suffix(""))


@contextlib.contextmanager
def faulty(shows: Path, mounted: Path, faults: Sequence[Fault]) -> Iterator[Path]:
    """A directory, shown at another place with faults; only root can have it.

    Yields:
        A file with one line for each fault that was injected: call, number, what, and path.
    """
    shows.mkdir(exist_ok=True)
    mounted.mkdir(exist_ok=True)
    log, scheduled = (shows.with_name(f"{shows.name}.{of}") for of in ("faults", "schedule"))
    schedule(shows, faults)
    argv = (sys.executable, "-m", "support.faulty_fs", shows, mounted, log, scheduled)
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(tests)}
    with subprocess.Popen(argv, env=environment) as server:
        try:
            wait_until(
                lambda: mounted.is_mount() or server.poll() is not None, "FUSE does not mount"
            )
            assert server.poll() is None, "FUSE has ended"
            yield log
        finally:
            subprocess.run(("umount", "--lazy", str(mounted)), check=False)
            # A test that failed may have left files open there, on which it would wait.
            server.terminate()
            server.wait()


@dataclass
class _Injector:
    """Counts calls and says what each meets."""

    log: Path
    scheduled: Path
    faults: Sequence[Fault] = ()
    counted: Counter[Fault] = field(default_factory=Counter)
    is_read_only: bool = False
    _version: tuple[int, int] = (0, 0)

    def _look(self) -> None:
        """Whether there is another schedule; a new one is a new file."""
        found = self.scheduled.stat()
        if (version := (found.st_ino, found.st_mtime_ns)) != self._version:
            self.faults = [Fault(**fault) for fault in json.loads(self.scheduled.read_bytes())]
            self.counted.clear()
            self.is_read_only = False
            self._version = version

    def meets(self, call: str, path: Path) -> str | None:
        """What this call meets; raises what is an error."""
        self._look()
        what = None
        for fault in self.faults:
            if fault.call == call and fault.path in str(path):
                self.counted[fault] += 1
                if self.counted[fault] == fault.nth:
                    what = fault.what
                    with self.log.open("a") as log:
                        log.write(f"{call} {fault.nth} {what} {path}\n")
        self.is_read_only |= what == READ_ONLY
        if self.is_read_only and call in CHANGES:
            raise OSError(errno.EROFS, "")
        if what not in (None, SHORT):
            raise OSError(getattr(errno, what), "")
        return what


class _FileInfo(ctypes.Structure):
    """``struct fuse_file_info`` of libfuse 3."""

    _fields_ = (
        ("flags", ctypes.c_int),
        ("bits", ctypes.c_uint),
        ("padding", ctypes.c_uint),
        ("file", ctypes.c_uint64),
        ("lock_owner", ctypes.c_uint64),
        ("poll_events", ctypes.c_uint32),
    )


_DIRECT_IO: Final = 2
"""The bit of ``direct_io``: each call comes to us as it was made."""


class _Stat(ctypes.Structure):
    """``struct stat`` of x86-64."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("st_dev", "st_ino", "st_nlink")),
        *((name, ctypes.c_uint32) for name in ("st_mode", "st_uid", "st_gid", "padding")),
        ("st_rdev", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("st_size", "st_blksize", "st_blocks")),
        *((name, ctypes.c_int64 * 2) for name in ("atim", "mtim", "ctim")),
        ("reserved", ctypes.c_int64 * 3),
    )


_Path, _Info, _Size = ctypes.c_char_p, ctypes.POINTER(_FileInfo), ctypes.c_size_t
_Mode, _Offset, _Bytes = ctypes.c_uint32, ctypes.c_int64, ctypes.POINTER(ctypes.c_char)
_FILL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, _Path, ctypes.c_void_p, _Offset, ctypes.c_int
)
_CALLS: Final[Mapping[str, tuple[Any, ...] | None]] = {
    "getattr": (_Path, ctypes.POINTER(_Stat), _Info),
    "readlink": (_Path, _Bytes, _Size),
    "mknod": None,
    "mkdir": (_Path, _Mode),
    "unlink": (_Path,),
    "rmdir": (_Path,),
    "symlink": (_Path, _Path),
    "rename": (_Path, _Path, ctypes.c_uint),
    "link": (_Path, _Path),
    "chmod": (_Path, _Mode, _Info),
    "chown": (_Path, ctypes.c_uint32, ctypes.c_uint32, _Info),
    "truncate": (_Path, _Offset, _Info),
    "open": (_Path, _Info),
    "read": (_Path, _Bytes, _Size, _Offset, _Info),
    "write": (_Path, _Bytes, _Size, _Offset, _Info),
    "statfs": None,
    "flush": None,
    "release": (_Path, _Info),
    "fsync": (_Path, ctypes.c_int, _Info),
    **dict.fromkeys(("setxattr", "getxattr", "listxattr", "removexattr", "opendir")),
    "readdir": (_Path, ctypes.c_void_p, _FILL, _Offset, _Info, ctypes.c_int),
    "releasedir": None,
    "fsyncdir": (_Path, ctypes.c_int, _Info),
    **dict.fromkeys(("init", "destroy", "access")),
    "create": (_Path, _Mode, _Info),
    **dict.fromkeys(("lock", "utimens", "bmap", "ioctl", "poll", "write_buf", "read_buf")),
    **dict.fromkeys(("flock", "fallocate", "copy_file_range", "lseek")),
}
"""Members of ``struct fuse_operations`` in their order; of those that are used, the arguments."""


class _PassedThrough:
    """The calls, each made on the directory that is shown."""

    def __init__(self, shows: str, injector: _Injector) -> None:
        self._shows = shows
        self._meets = injector.meets

    def _at(self, path: bytes) -> Path:
        return Path(self._shows + os.fsdecode(path))

    def getattr(self, path: bytes, into: Any, info: Any) -> None:
        found = os.fstat(info[0].file) if info else os.lstat(self._at(path))
        for name, kind in _Stat._fields_:
            if name.startswith("st_") and kind is not None:
                setattr(into[0], name, getattr(found, name))
        for name in ("atim", "mtim", "ctim"):
            nanoseconds = getattr(found, f"st_{name[0]}time_ns")
            getattr(into[0], name)[:] = divmod(nanoseconds, 10**9)

    def readlink(self, path: bytes, into: Any, size: int) -> None:
        aim = os.fsencode(self._at(path).readlink())[: size - 1] + b"\0"
        ctypes.memmove(into, aim, len(aim))

    def mkdir(self, path: bytes, mode: int) -> None:
        self._meets("mkdir", self._at(path))
        self._at(path).mkdir(mode)

    def unlink(self, path: bytes) -> None:
        # libfuse keeps an open file that is removed under another name; that is no call of ours.
        if not self._at(path).name.startswith(".fuse_hidden"):
            self._meets("unlink", self._at(path))
        self._at(path).unlink()

    def rmdir(self, path: bytes) -> None:
        self._at(path).rmdir()

    def symlink(self, aim: bytes, path: bytes) -> None:
        self._at(path).symlink_to(os.fsdecode(aim))

    def rename(self, path: bytes, to: bytes, flags: int) -> None:
        self._meets("rename", self._at(to))
        self._at(path).rename(self._at(to))

    def link(self, path: bytes, to: bytes) -> None:
        os.link(self._at(path), self._at(to))

    def chmod(self, path: bytes, mode: int, info: Any) -> None:
        self._at(path).chmod(stat.S_IMODE(mode))

    def chown(self, path: bytes, user: int, group: int, info: Any) -> None:
        os.chown(self._at(path), user, group, follow_symlinks=False)

    def truncate(self, path: bytes, size: int, info: Any) -> None:
        self._meets("truncate", self._at(path))
        os.truncate(info[0].file if info else self._at(path), size)

    def open(self, path: bytes, info: Any) -> None:
        self._meets("open", self._at(path))
        # The kernel has seen to O_APPEND: each write comes with its place.
        info[0].file = os.open(self._at(path), info[0].flags & ~os.O_APPEND)
        info[0].bits |= _DIRECT_IO

    def create(self, path: bytes, mode: int, info: Any) -> None:
        self._meets("create", self._at(path))
        flags = (info[0].flags & ~os.O_APPEND) | os.O_CREAT
        info[0].file = os.open(self._at(path), flags, mode)
        info[0].bits |= _DIRECT_IO

    def read(self, path: bytes, into: Any, size: int, offset: int, info: Any) -> int:
        what = self._meets("read", self._at(path))
        data = os.pread(info[0].file, max(1, size // 2) if what == SHORT else size, offset)
        ctypes.memmove(into, data, len(data))
        return len(data)

    def write(self, path: bytes, data: Any, size: int, offset: int, info: Any) -> int:
        what = self._meets("write", self._at(path))
        taken = max(1, size // 2) if what == SHORT else size
        return os.pwrite(info[0].file, ctypes.string_at(data, taken), offset)

    def release(self, path: bytes, info: Any) -> None:
        os.close(info[0].file)

    def fsync(self, path: bytes, data_only: int, info: Any) -> None:
        self._meets("fsync", self._at(path))
        os.fsync(info[0].file)

    def fsyncdir(self, path: bytes, data_only: int, info: Any) -> None:
        self._meets("fsyncdir", self._at(path))

    def readdir(
        self, path: bytes, into: Any, fill: Any, offset: int, info: Any, flags: int
    ) -> None:
        for name in (".", "..", *(one.name for one in self._at(path).iterdir())):
            fill(into, os.fsencode(name), None, 0, 0)


def _answering(call: Callable[..., int | None]) -> Callable[..., int]:
    """As C has it: what went wrong is a negative number."""

    def answer(*arguments: Any) -> int:
        try:
            return call(*arguments) or 0
        except OSError as error:
            return -(error.errno or errno.EIO)

    return answer


def main() -> None:
    """Serve one until it is unmounted."""
    shows, mounted, log, scheduled = sys.argv[1:]
    injector = _Injector(Path(log), Path(scheduled))
    calls = _PassedThrough(shows, injector)
    held = [
        None if kinds is None
        else ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(_answering(getattr(calls, name)))
        for name, kinds in _CALLS.items()
    ]  # fmt: skip
    addresses = (ctypes.cast(one, ctypes.c_void_p) if one else None for one in held)
    operations = (ctypes.c_void_p * len(held))(*addresses)
    options = "allow_other,default_permissions,attr_timeout=0,entry_timeout=0"
    argv = [b"faulty", os.fsencode(mounted), b"-f", b"-s", b"-o", options.encode()]
    library = ctypes.CDLL("libfuse3.so.3")
    arguments = (ctypes.c_char_p * len(argv))(*argv)
    sys.exit(
        library.fuse_main_real(
            len(argv), arguments, operations, ctypes.c_size_t(ctypes.sizeof(operations)), None
        )
    )


if __name__ == "__main__":
    main()
