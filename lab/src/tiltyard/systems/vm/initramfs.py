"""The initial file system of a guest: the engine as its only program, and the modules it needs.

Written by cpio(1) in its format "newc", which any kernel reads
(https://docs.kernel.org/driver-api/early-userspace/buffer-format.html), uncompressed, so that no
guest has to unpack it. ``/dev/console`` comes with each kernel's own initial file system.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tiltyard.elf import is_static
from tiltyard.errors import HostLacksError
from tiltyard.folder import sha256
from tiltyard.host import commands
from tiltyard.host.packages import Tool
from tiltyard.installation import repair
from tiltyard.systems.vm.modules import contents

CPIO: Final = Tool("cpio", "cpio", ("--version",), "no kernel can be booted by itself (kind vm)")
_DIRECTORIES = ("dev", "proc", "sys", "tmp", "modules")
_WRITE = ("cpio", "--create", "--format=newc", "--reproducible", "--owner=0:0", "--quiet")


def build(engine: Path, modules: Sequence[Path], directory: Path, archive: Path) -> None:
    """Write the archive; the same contents give the same bytes.

    Args:
        engine: becomes ``/init``; must be a static program.
        modules: in the order in which the guest shall load them.
        directory: an empty one, for the files that go into the archive.
        archive: path of the archive.

    Raises:
        HostLacksError: if the engine needs libraries, or there is no cpio(1).
    """
    if not is_static(engine):
        raise HostLacksError(f"{engine} needs libraries that no guest has. Fix: {repair()}")
    tree, names = directory / "tree", directory / "names"
    tree.mkdir()
    files = list(_fill(tree, engine, modules))
    for name in files:
        os.utime(tree / name, (0, 0))
    names.write_text("".join(f"{name}\n" for name in files))
    commands.run((*_WRITE, f"--directory={tree}", f"--file={archive}"), stdin=names)


def name_of(engine: Path, modules: Sequence[Path]) -> str:
    """A file name that changes with whatever goes into the archive."""
    told = "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in modules)
    return f"initramfs-{sha256(engine.read_bytes() + told.encode())[:16]}.cpio"


def _fill(tree: Path, engine: Path, modules: Sequence[Path]) -> Iterator[str]:
    """Lay out the files; their names, parents first."""
    for name in _DIRECTORIES:
        (tree / name).mkdir()
        yield name
    shutil.copyfile(engine, tree / "init")
    (tree / "init").chmod(0o755)
    yield "init"
    order = []
    for path in modules:
        name = f"modules/{path.name.partition('.ko')[0]}.ko"
        order.append(f"/{name}\n")
        (tree / name).write_bytes(contents(path))
        yield name
    (tree / "modules/order").write_text("".join(order))
    yield "modules/order"
