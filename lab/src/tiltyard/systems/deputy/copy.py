"""What is copied to another host, and how it is started there.

The rooms of the lab that prepare systems, the libraries that they need, and the engine, as one
archive; over there a Python of the same sort unpacks and executes them. Nothing is installed.
"""

import functools
import importlib.util
import io
import platform
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import tiltyard
from tiltyard.executors.engine import NAME, Engine

ROOMS: Final = ("executors", "host", "study", "systems", "tuning", "wire")
"""Of the lab, beside its single files: what systems are made of, and what is left of it."""
LIBRARIES: Final = (
    "annotated_types",
    "msgspec",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
)
_UNUSED: Final = ("pydantic/v1",)
SORT: Final = (
    f"Python {sys.version_info[0]}.{sys.version_info[1]}, {platform.system()} {platform.machine()}"
)
"""What the libraries are for; as :data:`BOOT` says it of another host."""

START: Final = f"""\
import os, shutil, sys, time
home = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(home, "lab"))
os.environ["TILTYARD_ENGINE"] = os.path.join(home, "{NAME}")
try:
    from tiltyard.systems.deputy.serve import main
except ImportError as error:
    for _ in range(100):
        # A deputy that ends removes it while others come to look.
        if sys.argv[1] != "restore" or not os.path.exists(home):
            break
        time.sleep(0.1)
    if not os.path.exists(home):
        sys.exit(0)
    compiled = ("msgspec._core", "pydantic_core._pydantic_core")
    in_part = getattr(error, "name", None) not in compiled
    if sys.argv[1] != "restore" or in_part:
        shutil.rmtree(home, ignore_errors=True)
    if sys.argv[1] != "restore" or not in_part:
        sys.exit("the lab cannot be started there: %s" % error)
    sys.exit(0)
main(home, sys.argv[1])
"""
"""The program of a deputy. A copy of which a part is gone, and not the Python that its compiled
libraries are for, was being removed when the power was cut: it had taken everything back."""

BOOT: Final = r"""
import io, os, platform, shutil, sys, tarfile
home, size, wanted, how = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
have = "Python %d.%d, %s %s" % (*sys.version_info[:2], platform.system(), platform.machine())
if have != wanted:
    sys.exit("there is %s, and the lab is for %s. Fix: install python%s there" % (
        have, wanted, wanted.split()[1].rstrip(",")))
if os.statvfs(".").f_flag & os.ST_NOEXEC:
    sys.exit("no program can be executed in the home directory. Fix: mount -o remount,exec, or a "
             "user whose home is elsewhere")
try:
    os.mkdir(home, 0o700)
    data = bytearray()
    while len(data) < size:
        part = os.read(0, min(1 << 20, size - len(data)))
        if not part:
            raise EOFError("the connection ended while the lab was copied")
        data += part
    tarfile.open(fileobj=io.BytesIO(data), mode="r:gz").extractall(home)
    start = os.path.join(os.path.abspath(home), "start.py")
    os.sync()
    with open(os.path.join(home, "restore"), "w") as script:
        script.write('exec "%s" -I -S "%s" "${1:-restore}"\n' % (sys.executable, start))
        script.flush()
        os.fsync(script.fileno())
except (OSError, EOFError) as error:
    shutil.rmtree(home, ignore_errors=True)
    sys.exit("the lab cannot be copied there: %s" % error)
os.execv(sys.executable, [sys.executable, "-I", "-S", start, how])
"""
"""Unpacks as many bytes as it is told of, and becomes the deputy; what follows is its input. What
restores is there last, and synced: after a power cut such a copy is whole."""

_FIND: Final = (
    "python=$(command -v python{0} || command -v python3) || "
    "{{ echo 'there is no python3. Fix: install python{0} there' >&2; exit 1; }}; "
    'exec "$python" -I -S -c "$@"'
).format(f"{sys.version_info[0]}.{sys.version_info[1]}")


def words(directory: str, size_bytes: int, how: str) -> tuple[str, ...]:
    """The command that becomes a deputy on the host on which it is executed.

    Args:
        directory: made for it; a relative path begins at the user's home.
        size_bytes: of the archive, which it reads first.
        how: what it is for: ``run``, ``preview`` or ``restore``.
    """
    return ("sh", "-c", _FIND, "sh", BOOT, directory, str(size_bytes), SORT, how)


@functools.cache
def archive() -> bytes:
    """All that is copied, as a tar.gz."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for name, path in _files():
            tar.add(path, name, recursive=False, filter=_plain)
        _add(tar, "start.py", START.encode())
        about = f"Metadata-Version: 2.1\nName: tiltyard\nVersion: {tiltyard.__version__}\n"
        _add(tar, f"lab/tiltyard-{tiltyard.__version__}.dist-info/METADATA", about.encode())
    return packed.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    """Each with its name in the archive."""
    yield NAME, Engine.find().path
    lab = Path(tiltyard.__file__).parent
    for path in sorted(lab.glob("*.py")):
        yield from _with_code(f"lab/tiltyard/{path.name}", path)
    for room in ROOMS:
        yield from _tree(lab / room, f"lab/tiltyard/{room}")
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        if spec.submodule_search_locations:
            yield from _tree(origin.parent, f"lab/{library}")
        else:
            yield from _with_code(f"lab/{library}.py", origin)


def _tree(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """All files in a folder, without what nobody loads."""
    for path in sorted(folder.rglob("*")):
        inside = f"{name}/{path.relative_to(folder)}"
        unused = any(f"lab/{part}/" in inside for part in _UNUSED)
        if path.is_file() and path.parent.name != "__pycache__" and not unused:
            yield from _with_code(inside, path)


def _with_code(name: str, path: Path) -> Iterator[tuple[str, Path]]:
    """A file; a module with what Python has compiled of it, which costs seconds otherwise."""
    yield name, path
    if path.suffix == ".py":
        compiled = Path(importlib.util.cache_from_source(str(path)))
        if compiled.is_file():
            yield f"{Path(name).parent}/__pycache__/{compiled.name}", compiled


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whoever unpacks it owns it; links are files there."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
