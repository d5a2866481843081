"""A clean Debian 12 as an archive: the ground of the image, and of the tests that install."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from release.debian import tools

SUITE: Final = "bookworm"
_ALWAYS: Final = ("python3", "python3-venv", "ca-certificates")


def base(cache: Path, more: Sequence[str] = (), epoch: int | None = None) -> Path:
    """An archive of a clean Debian with Python and the tools of the main job; made once.

    Args:
        cache: a folder that keeps it.
        more: further packages.
        epoch: no file is younger than this (seconds since 1970), so that the same packages give
            the same bytes.

    Raises:
        OSError: if there is no mmdebstrap(1).
        CalledProcessError: if it fails: without root, or offline.
    """
    packages = sorted({*_ALWAYS, *(pair.partition(":")[0] for pair in tools()), *more})
    name = hashlib.sha256(f"{packages} {epoch}".encode()).hexdigest()[:12]
    archive = cache / f"{SUITE}-{name}.tar"
    if not archive.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = cache / f"unfinished-{os.getpid()}.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}"]
        time = {"SOURCE_DATE_EPOCH": str(epoch)} if epoch else {}
        subprocess.run(
            [*command, SUITE, str(unfinished), *_sources()], check=True, env={**os.environ, **time}
        )
        unfinished.rename(archive)
    return archive


def _sources() -> list[str]:
    """Where this host gets its packages from, if it is that Debian; else Debian's own mirror."""
    release = Path("/etc/os-release")
    if not release.is_file() or f"VERSION_CODENAME={SUITE}" not in release.read_text():
        return []
    listed = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
    return [str(path) for path in listed if path.is_file()]
