"""Work as an ordinary user, in a child of the tests that has given up root.

The user may not be able to read the interpreter's library, so what a run imports when it needs it
is imported here beforehand.
"""

import ctypes
import email.parser  # noqa: F401  importlib.metadata needs it
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from tiltyard.executors.engine import Engine

NOBODY = 65534
_PR_SET_DUMPABLE = 4


def as_user(work: Callable[[Path], None]) -> None:
    """Do something as an ordinary user; what he raises is raised here, as text.

    Args:
        work: gets a directory of his own, with an engine that he can reach; nothing is left of it.
    """
    home = Path(tempfile.mkdtemp(prefix="user-"))
    try:
        home.chmod(0o755)
        shutil.copy(Engine.find().path, home / "engine")
        for name in ("work", "state"):
            (home / name).mkdir()
            os.chown(home / name, NOBODY, NOBODY)
        said = _in_a_child(home, work)
        assert not said, said
        assert not list((home / "state").iterdir())
    finally:
        shutil.rmtree(home)


def _in_a_child(home: Path, work: Callable[[Path], None]) -> str:
    """What went wrong there; empty if nothing did."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        said = ""
        try:
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


def _give_up_root() -> None:
    """For good; the kernel then still lets the user look at his own processes."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
