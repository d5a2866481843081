"""Work as an ordinary user, in a child of the tests that has given up root.

The user may not be able to read the interpreter's library, so what a run imports when it needs it
is imported here beforehand.
"""

import ctypes
import email.parser  # noqa: F401  importlib.metadata needs it
import os
import shutil
import stat
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.hosts import KEPT
from support.places import FORGET
from tiltyard.executors.engine import Engine

NOBODY = 65534
_PR_SET_DUMPABLE = 4
_CLONE_NEWNS = 0x20000
_FUSE = Path("/dev/fuse")


def as_user(work: Callable[[Path], None]) -> None:
    """Do something as an ordinary user; what he raises is raised here, as text.

    Args:
        work: gets a directory of his own, with an engine that he can reach; nothing is left of it.
    """
    home = Path(tempfile.mkdtemp(prefix="user-"))
    try:
        home.chmod(0o755)
        shutil.copy(Engine.find().path, home / "engine")
        (home / "dev").mkdir()
        for name in ("work", "state"):
            (home / name).mkdir()
            os.chown(home / name, NOBODY, NOBODY)
        said = _in_a_child(home, work)
        assert not said, said
        assert {path.name for path in (home / "state").iterdir()} <= KEPT
    finally:
        shutil.rmtree(home)


def _in_a_child(home: Path, work: Callable[[Path], None]) -> str:
    """What went wrong there; empty if nothing did."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        said = ""
        try:
            _open_fuse_to_all(home / "dev")
            _give_up_root()
            os.environ.update(
                HOME=str(home / "work"),
                TILTYARD_STATE=str(home / "state"),
                TILTYARD_ENGINE=str(home / "engine"),
            )
            work(home / "work")
        except BaseException:
            said = traceback.format_exc()
        finally:
            os.write(writes, said.encode()[-60_000:])
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def _open_fuse_to_all(scratch: Path) -> None:
    """In a table of mounts of this child's own: on many hosts only root may open ``/dev/fuse``."""
    if not _FUSE.exists():
        return
    assert ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0
    device = scratch / "fuse"
    run = partial(subprocess.run, check=True)
    run(("mount", "--make-rprivate", "/"))
    run(("sh", "-c", FORGET))
    run(("mount", "-t", "tmpfs", "-o", "dev", "tmpfs", str(scratch)))
    os.mknod(device, stat.S_IFCHR | 0o666, _FUSE.stat().st_rdev)
    device.chmod(0o666)
    run(("mount", "--bind", str(device), str(_FUSE)))


def _give_up_root() -> None:
    """For good; the kernel then still lets the user look at his own processes."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
